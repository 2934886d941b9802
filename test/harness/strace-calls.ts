/**
 * The system calls in a log of `strace -f -y -v -xx`, whole again where another thread's call stood in between. What
 * the calls mean is for others to say: this file knows the log's form only.
 */

/**
 * Where a call stands in the log, in lines; one that fits into a single line takes half of it. Calls of several threads
 * overlap: what counts is what ended before what began.
 */
export interface Span {
  readonly began: number;
  readonly ended: number;
}

export interface Call extends Span {
  readonly name: string;
  readonly args: string;
  readonly result: number;
  readonly resultPath: string;
}

export interface Printed extends Span {
  readonly line: string;
}

export interface StraceLog {
  /** In the order in which they began. */
  readonly calls: readonly Call[];
  /** One past the last line of the log. */
  readonly length: number;
}

/** Makes strace write the log's form that is read here. */
export const straceArguments = (tracedCalls: string, log: string): string[] => {
  return ['-f', '-y', '-v', '-xx', '-s', '100000000', '-e', `trace=${tracedCalls}`, '-o', log];
};

const WHOLE = /^(\d+) +(\w+)\((.*)\)\s+= (-?\d+)(?:<(.*?)>)?/s;
const UNFINISHED = /^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$/s;
const RESUMED = /^(\d+) +<\.\.\. (\w+) resumed>(.*)\)\s+= (-?\d+)(?:<(.*?)>)?/s;

export function parseCalls(log: string): StraceLog {
  const calls: Call[] = [];
  const unfinished = new Map<string, { name: string; args: string; began: number }>();
  const lines = log.split('\n');
  for (const [index, line] of lines.entries()) {
    const begun = UNFINISHED.exec(line);
    const resumed = RESUMED.exec(line);
    const whole = WHOLE.exec(line);
    if (begun !== null) {
      const [, thread = '', name = '', args = ''] = begun;
      unfinished.set(thread, { name, args, began: index });
    } else if (resumed !== null) {
      const [, thread = '', , rest = '', result = '', path = ''] = resumed;
      const start = unfinished.get(thread);
      if (start === undefined) throw new Error(`line ${index + 1} resumes nothing`);
      const args = start.args + rest;
      calls.push({ ...start, args, ended: index + 0.5, result: Number(result), resultPath: text(path) });
    } else if (whole !== null) {
      const [, , name = '', args = '', result = '', path = ''] = whole;
      calls.push({ name, args, began: index, ended: index + 0.5, result: Number(result), resultPath: text(path) });
    }
  }
  return { calls: calls.sort((a, b) => a.began - b.began), length: lines.length };
}

const bytesOf = (escaped: string): Buffer => Buffer.from(escaped.replaceAll('\\x', ''), 'hex');
const text = (escaped: string): string => bytesOf(escaped).toString();

/** The strings among the arguments: paths, a call's buffer, or all of its buffers. */
export const stringsIn = ({ args }: Call): Buffer[] =>
  [...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, escaped = '']) => bytesOf(escaped));

/** The bytes of a call that writes, which must have written them all. */
export function bytesWritten(call: Call): Buffer {
  const bytes = Buffer.concat(stringsIn(call));
  if (bytes.length !== call.result) throw new Error(`${call.name} wrote ${call.result} of ${bytes.length} bytes`);
  return bytes;
}

/** The first file descriptor among the arguments; null where there is none. */
export function descriptorIn({ args }: Call): { fd: number; path: string } | null {
  const [, fd, path = ''] = /(?:^|, )(\d+)<((?:\\x[0-9a-f]{2})*)>/.exec(args) ?? [];
  return fd === undefined ? null : { fd: Number(fd), path: text(path) };
}

/** Where a pwrite or pwritev writes. */
export const offsetIn = ({ args }: Call): number => Number(/, (\d+)$/.exec(args)?.[1]);

/** What the program wrote to its standard output. */
export function printedIn(calls: readonly Call[]): Printed[] {
  const prints = calls.filter((call) => call.name === 'write' && descriptorIn(call)?.fd === 1);
  return prints.flatMap((call) => {
    const lines = Buffer.concat(stringsIn(call)).toString().trimEnd().split('\n');
    return lines.map((line) => ({ began: call.began, ended: call.ended, line }));
  });
}
