/** What must not outlive the benchmark: whatever starts a process says here how to end it at once. */

const endings = new Set<() => void>();

/** The caller takes it back by the function returned, once the process has ended by itself. */
export function onEnd(end: () => void): () => void {
  endings.add(end);
  return () => endings.delete(end);
}

/** For the end of this process, when nothing can be awaited. The last that was started ends first. */
export function endAll(): void {
  for (const end of [...endings].toReversed()) end();
  endings.clear();
}
