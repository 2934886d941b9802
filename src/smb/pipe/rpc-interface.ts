/** What can be called through a pipe. */
import type { Storage } from '../../service/storage.ts';
import type { NdrReader, NdrWriter } from './ndr.ts';
import type { Syntax } from './pdu.ts';

/** On whose behalf a call is made. */
export interface RpcCaller {
  readonly storage: Storage;
  readonly account: string;
}

/** Reads its arguments and writes its results. Throws BadStub for arguments that are none. */
export type RpcCall = (caller: RpcCaller, stub: NdrReader, out: NdrWriter) => Promise<void> | void;

export interface RpcInterface {
  readonly syntax: Syntax;
  readonly calls: ReadonlyMap<number, RpcCall>;
}

/** How calls end: codes of Windows ([MS-ERREF] 2.2). */
export const ERROR_SUCCESS = 0;
export const ERROR_INVALID_LEVEL = 124;
export const ERROR_MORE_DATA = 234;
export const NERR_NET_NAME_NOT_FOUND = 2310;

/** What servers call themselves. */
export const SERVER_NAME = 'LARIMAR';
export const PLATFORM_NT = 500;
export const VERSION = { major: 10, minor: 0 } as const;
