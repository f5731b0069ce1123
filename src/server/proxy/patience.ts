/** The answer, or a fault when it does not come in time: a connection that only seems to be open never answers. */
export async function within<T>(answer: Promise<T>, patienceMs: number, whom: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`timeout: ${whom} did not answer`)), patienceMs);
  });
  return Promise.race([answer, silence]).finally(() => clearTimeout(timer));
}
