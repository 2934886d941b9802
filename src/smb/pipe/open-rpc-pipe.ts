/** The pipes that there are, and what is at their other end. */
import type { Pipe } from '../session/pipe.ts';
import { Association } from './association.ts';
import type { RpcCaller, RpcInterface } from './rpc-interface.ts';
import { RpcPipe } from './rpc-pipe.ts';
import { SRVSVC } from './srvsvc.ts';
import { WKSSVC } from './wkssvc.ts';

const INTERFACES: ReadonlyMap<string, RpcInterface> = new Map([
  ['srvsvc', SRVSVC],
  ['wkssvc', WKSSVC],
]);

let lastGroup = 0;

/** By its name, in any spelling: `srvsvc`, `\srvsvc`, `PIPE\srvsvc`. Null: there is no such pipe. */
export function openRpcPipe(spelling: string, caller: RpcCaller): Pipe | null {
  const name = spelling.toLowerCase().replace(/^\\?(?:pipe\\)?/, '');
  const found = INTERFACES.get(name);
  if (found === undefined) return null;
  lastGroup = (lastGroup % 0xffff_ffff) + 1;
  return new RpcPipe(name, new Association({ of: found, caller, address: `\\PIPE\\${name}`, group: lastGroup }));
}
