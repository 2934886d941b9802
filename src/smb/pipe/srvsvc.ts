/**
 * The Server Service ([MS-SRVS]): which shares there are, and what kind of server this is. A caller sees the shares of the
 * account that it has signed in to, and IPC$.
 */
import { listShares } from '../../service/file/list-shares.ts';
import { lookUpShare } from '../../service/file/use-share.ts';
import { type Information, informationBytes, writeInformation, writeInformationResult } from './information.ts';
import { BadStub, type NdrReader, type NdrWriter } from './ndr.ts';
import {
  ERROR_INVALID_LEVEL,
  ERROR_MORE_DATA,
  ERROR_SUCCESS,
  NERR_NET_NAME_NOT_FOUND,
  PLATFORM_NT,
  type RpcCall,
  type RpcCaller,
  type RpcInterface,
  SERVER_NAME,
  VERSION,
} from './rpc-interface.ts';

interface Share {
  readonly name: string;
  readonly type: number;
}

const DISK_TREE = 0;
/** STYPE_IPC with STYPE_SPECIAL. */
const IPC: Share = { name: 'IPC$', type: 0x8000_0003 };

const UNLIMITED = 0xffff_ffff;

const SHARE_LEVELS: ReadonlyMap<number, (share: Share) => Information> = new Map([
  [0, ({ name }) => [name]],
  [1, ({ name, type }) => [name, type, '']],
  [2, (share) => shareInformation2(share)],
  [501, ({ name, type }) => [name, type, '', 0]],
  // And no security descriptor, of no length.
  [502, (share) => [...shareInformation2(share), 0, null]],
]);

/** Name, type, remark, permissions, uses at most, uses, path, password. */
const shareInformation2 = ({ name, type }: Share): Information => [name, type, '', 0, UNLIMITED, 0, '', ''];

/** A workstation, a server, NT, and a server of NT. */
const SERVER_TYPE = 0x0000_9003;

const SERVER_100: Information = [PLATFORM_NT, SERVER_NAME];
const SERVER_101: Information = [...SERVER_100, VERSION.major, VERSION.minor, SERVER_TYPE, ''];

/** 102: users, minutes to disconnect, hidden, seconds to announce and their spread, licenses, path of users. */
const SERVER_LEVELS: ReadonlyMap<number, Information> = new Map([
  [100, SERVER_100],
  [101, SERVER_101],
  [102, [...SERVER_101, UNLIMITED, 15, 1, 240, 3000, 0, 'c:\\']],
]);

const PAGE_SHARES = 5_000;

async function allShares({ storage, account }: RpcCaller): Promise<Share[]> {
  const found: Share[] = [];
  const common = { account, prefix: '', limit: PAGE_SHARES, includeSnapshots: false, includeDeleted: false };
  for (let from: string | null = ''; from !== null; ) {
    const { shares, next } = await listShares(storage, { ...common, from });
    found.push(...shares.map(({ name }) => ({ name, type: DISK_TREE })));
    from = next;
  }
  return [...found, IPC];
}

async function findShare({ storage, account }: RpcCaller, asked: string): Promise<Share | null> {
  if (asked.toUpperCase() === IPC.name) return IPC;
  const name = asked.toLowerCase();
  return (await lookUpShare(storage, { account, share: name })) === null ? null : { name, type: DISK_TREE };
}

/** Of one answer; whoever has more shares is told to go on. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

const netShareEnum: RpcCall = async (caller, stub, out) => {
  stub.optionalText();
  const level = stub.u32();
  readEmptyContainer(stub, level);
  const preferredBytes = stub.u32();
  const from = stub.hasPointee() ? stub.u32() : null;
  const informationOf = SHARE_LEVELS.get(level);
  if (informationOf === undefined) {
    writeShares(out, level, null);
    writeEnd(out, { total: 0, resumeAt: from, code: ERROR_INVALID_LEVEL });
    return;
  }
  const left = (await allShares(caller)).slice(from ?? 0);
  const shares = fitting(left.map(informationOf), Math.min(preferredBytes, ANSWER_BYTES_MAX));
  writeShares(out, level, shares);
  const isAll = shares.length === left.length;
  const resumeAt = from === null ? null : isAll ? 0 : from + shares.length;
  writeEnd(out, { total: left.length, resumeAt, code: isAll ? ERROR_SUCCESS : ERROR_MORE_DATA });
};

/** Which level is meant, and where entries would stand that nobody sends. */
function readEmptyContainer(stub: NdrReader, level: number): void {
  if (stub.u32() !== level) throw new BadStub('two levels');
  if (!stub.hasPointee()) return;
  stub.u32();
  if (stub.hasPointee() && stub.u32() !== 0) throw new BadStub('shares in a request');
}

/** As many as fit; one at least, so that whoever goes on gets on. */
function fitting(all: readonly Information[], bytesMax: number): readonly Information[] {
  let bytes = 0;
  const end = all.findIndex((each) => (bytes += informationBytes(each)) > bytesMax);
  return end === -1 ? all : all.slice(0, Math.max(1, end));
}

function writeShares(out: NdrWriter, level: number, shares: readonly Information[] | null): void {
  const writeAll = (all: readonly Information[]) => () => {
    out.u32(all.length);
    for (const each of all) writeInformation(out, each);
  };
  out.structure(() => {
    out.u32(level);
    out.u32(level);
    out.pointer(
      shares === null
        ? null
        : () => {
            out.u32(shares.length);
            out.pointer(shares.length === 0 ? null : writeAll(shares));
          },
    );
  });
}

function writeEnd(out: NdrWriter, end: { total: number; resumeAt: number | null; code: number }): void {
  const { total, resumeAt, code } = end;
  out.u32(total);
  out.structure(() => out.pointer(resumeAt === null ? null : () => out.u32(resumeAt)));
  out.u32(code);
}

const netShareGetInfo: RpcCall = async (caller, stub, out) => {
  stub.optionalText();
  const name = stub.text();
  const level = stub.u32();
  const informationOf = SHARE_LEVELS.get(level);
  const share = await findShare(caller, name);
  if (share !== null || informationOf === undefined) {
    writeInformationResult(out, level, share === null ? undefined : informationOf?.(share));
    return;
  }
  out.u32(level);
  out.u32(0);
  out.u32(NERR_NET_NAME_NOT_FOUND);
};

const netServerGetInfo: RpcCall = (_, stub, out) => {
  stub.optionalText();
  const level = stub.u32();
  writeInformationResult(out, level, SERVER_LEVELS.get(level));
};

export const SRVSVC: RpcInterface = {
  syntax: { uuid: '4b324fc8-1670-01d3-1278-5a47bf6ee188', version: 3 },
  calls: new Map([
    [15, netShareEnum],
    [16, netShareGetInfo],
    [21, netServerGetInfo],
    // NetrShareEnumSticky: shares that outlast the server, which all do.
    [36, netShareEnum],
  ]),
};
