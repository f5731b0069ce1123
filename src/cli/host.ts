/** Everything outside the client that a command touches; a test brings its own. */
export interface Host {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean; setRawMode?(on: boolean): unknown };
  stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number };
  stderr: NodeJS.WritableStream & { isTTY?: boolean; columns?: number };
  /** Where `.gw` lies; null when the user has no home. */
  homeDir: string | null;
  version: string;
  nowMs(): number;
  /** Aborted when the user presses Ctrl-C. */
  signal: AbortSignal;
}
