import { bar } from './chart.ts';
import { bytes, percent } from './format.ts';
import type { Host } from './host.ts';
import { padEnd } from './text.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 80;
/** An answer that comes at once needs no sign of life. */
const PATIENCE_MS = 300;
const BAR_CELLS = 24;
const CLEAR_LINE = '\r\u001b[2K';

export interface Progress {
  /** How far it is; without a total only that it moves. */
  update(doneBytes: number, totalBytes: number | null): void;
  end(): void;
}

const SILENT: Progress = { update() {}, end() {} };

/** One line on stderr that shows work going on and leaves no trace; nothing at all without a terminal. */
export function startProgress(host: Host, label: string): Progress {
  if (!host.stderr.isTTY) return SILENT;
  let frame = 0;
  let shown = '';
  let drawn = false;
  const draw = () => {
    frame += 1;
    host.stderr.write(`${CLEAR_LINE}${FRAMES[frame % FRAMES.length]} ${label}${shown}`);
    drawn = true;
  };
  let timer: NodeJS.Timeout;
  const patience = setTimeout(() => {
    timer = setInterval(draw, FRAME_MS);
  }, PATIENCE_MS);
  return {
    update(doneBytes, totalBytes) {
      shown =
        totalBytes === null || totalBytes === 0
          ? ` ${bytes(doneBytes)}`
          : ` ${padEnd(bar(doneBytes, totalBytes, BAR_CELLS), BAR_CELLS)} ${percent(doneBytes / totalBytes)}`;
    },
    end() {
      clearTimeout(patience);
      clearInterval(timer);
      if (drawn) host.stderr.write(CLEAR_LINE);
    },
  };
}
