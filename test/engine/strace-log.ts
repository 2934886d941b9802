/**
 * What a program did to one file, call by call, out of a log of `strace -f -y -v -xx`: the bytes it wrote, the syncs
 * that made them durable, and the lines it printed in between. A call on the file that is not understood is an error:
 * a recording with a hole in it would prove nothing.
 */

/**
 * Where a call stands in the log, in lines; one that fits into a single line takes half of it. Calls of several threads
 * overlap: what counts is what ended before what began.
 */
export interface Span {
  readonly began: number;
  readonly ended: number;
}

export interface DiskWrite extends Span {
  readonly offset: number;
  readonly bytes: Buffer;
  /** Durable when it returns, without a sync (O_DSYNC). */
  readonly isSynchronous: boolean;
}

export interface Printed extends Span {
  readonly line: string;
}

export interface Recording {
  readonly writes: readonly DiskWrite[];
  readonly syncs: readonly Span[];
  readonly printed: readonly Printed[];
  /** One past the last line of the log. */
  readonly length: number;
}

export const TRACED_CALLS = [
  'openat,lseek,mmap,msync,write,pwrite64,writev,pwritev,pwritev2,fsync,fdatasync',
  'ftruncate,truncate,fallocate,sync_file_range,copy_file_range,sendfile,splice,rename,unlink',
].join();

interface Call extends Span {
  readonly name: string;
  readonly args: string;
  readonly result: number;
  readonly resultPath: string;
}

const WHOLE = /^(\d+) +(\w+)\((.*)\)\s+= (-?\d+)(?:<(.*?)>)?/s;
const UNFINISHED = /^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$/s;
const RESUMED = /^(\d+) +<\.\.\. (\w+) resumed>(.*)\)\s+= (-?\d+)(?:<(.*?)>)?/s;

function parseCalls(log: string): { calls: Call[]; length: number } {
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

/** The strings among the arguments, one after the other: a call's buffer, or all of its buffers. */
const stringsIn = (args: string): Buffer =>
  Buffer.concat([...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, escaped = '']) => bytesOf(escaped)));

export function readRecording(log: string, path: string): Recording {
  const { calls, length } = parseCalls(log);
  const writes: DiskWrite[] = [];
  const syncs: Span[] = [];
  const printed: Printed[] = [];
  const synchronous = new Set<number>();
  const positions = new Map<number, number>();

  function addWrite(call: Call, fd: number, offset: number): void {
    const bytes = stringsIn(call.args);
    if (bytes.length !== call.result) throw new Error(`${call.name} wrote ${call.result} of ${bytes.length} bytes`);
    writes.push({ ...call, offset, bytes, isSynchronous: synchronous.has(fd) });
  }

  for (const call of calls) {
    if (call.name === 'openat' && call.resultPath === path) {
      positions.set(call.result, 0);
      if (/O_D?SYNC/.test(call.args)) synchronous.add(call.result);
      else synchronous.delete(call.result);
      continue;
    }
    const [, fdText, fdPath = ''] = /(?:^|, )(\d+)<((?:\\x[0-9a-f]{2})*)>/.exec(call.args) ?? [];
    const fd = Number(fdText);
    if (call.name === 'write' && fd === 1) {
      for (const line of stringsIn(call.args).toString().trimEnd().split('\n')) printed.push({ ...call, line });
    }
    if (text(fdPath) !== path) continue;
    switch (call.name) {
      case 'lseek':
        positions.set(fd, call.result);
        break;
      case 'write':
      case 'writev': {
        const position = positions.get(fd) ?? 0;
        addWrite(call, fd, position);
        positions.set(fd, position + call.result);
        break;
      }
      case 'pwrite64':
      case 'pwritev':
        addWrite(call, fd, Number(/, (\d+)$/.exec(call.args)?.[1]));
        break;
      case 'fsync':
      case 'fdatasync':
        if (call.result === 0) syncs.push(call);
        break;
      case 'mmap':
        if (call.args.includes('PROT_WRITE')) throw new Error('the file is written through memory');
        break;
      default:
        throw new Error(`${call.name} on the file is not understood`);
    }
  }
  return { writes, syncs, printed, length };
}
