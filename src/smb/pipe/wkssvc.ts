/** The Workstation Service ([MS-WKST]), as far as clients ask a file server for it: its name and version. */
import { type Information, writeInformationResult } from './information.ts';
import { PLATFORM_NT, type RpcCall, type RpcInterface, SERVER_NAME, VERSION } from './rpc-interface.ts';

const WORKGROUP = 'WORKGROUP';

const LEVELS: ReadonlyMap<number, Information> = new Map([
  [100, [PLATFORM_NT, SERVER_NAME, WORKGROUP, VERSION.major, VERSION.minor]],
]);

const netWkstaGetInfo: RpcCall = (_, stub, out) => {
  stub.optionalText();
  const level = stub.u32();
  writeInformationResult(out, level, LEVELS.get(level));
};

export const WKSSVC: RpcInterface = {
  syntax: { uuid: '6bffd098-a112-3610-9833-46c3f87e345a', version: 1 },
  calls: new Map([[0, netWkstaGetInfo]]),
};
