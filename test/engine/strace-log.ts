/**
 * What a program did to one file, call by call, out of a log of strace: the bytes it wrote, the syncs that made them
 * durable, and the lines it printed in between. A call on the file that is not understood is an error: a recording
 * with a hole in it would prove nothing.
 */
import {
  bytesWritten,
  type Call,
  descriptorIn,
  offsetIn,
  type Printed,
  parseCalls,
  printedIn,
  type Span,
} from '../harness/strace-calls.ts';

export interface DiskWrite extends Span {
  readonly offset: number;
  readonly bytes: Buffer;
  /** Durable when it returns, without a sync (O_DSYNC). */
  readonly isSynchronous: boolean;
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

export function readRecording(log: string, path: string): Recording {
  const { calls, length } = parseCalls(log);
  const writes: DiskWrite[] = [];
  const syncs: Span[] = [];
  const synchronous = new Set<number>();
  const positions = new Map<number, number>();

  function addWrite(call: Call, fd: number, offset: number): void {
    writes.push({ ...call, offset, bytes: bytesWritten(call), isSynchronous: synchronous.has(fd) });
  }

  for (const call of calls) {
    if (call.name === 'openat' && call.resultPath === path) {
      positions.set(call.result, 0);
      if (/O_D?SYNC/.test(call.args)) synchronous.add(call.result);
      else synchronous.delete(call.result);
      continue;
    }
    const descriptor = descriptorIn(call);
    if (descriptor?.path !== path) continue;
    const { fd } = descriptor;
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
        addWrite(call, fd, offsetIn(call));
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
  return { writes, syncs, printed: printedIn(calls), length };
}
