/** Every command, and what must be there for it: a session that has signed in, a share that it has connected to. */
import { changeNotify } from './command/change-notify.ts';
import { close } from './command/close.ts';
import type { Command } from './command/command.ts';
import { create } from './command/create.ts';
import { echo } from './command/echo.ts';
import { flush } from './command/flush.ts';
import { ioctl } from './command/ioctl.ts';
import { lock } from './command/lock.ts';
import { logoff } from './command/logoff.ts';
import { negotiate } from './command/negotiate.ts';
import { oplockBreak } from './command/oplock-break.ts';
import { queryDirectory } from './command/query-directory.ts';
import { queryInfo } from './command/query-info.ts';
import { read } from './command/read.ts';
import { sessionSetup } from './command/session-setup.ts';
import { setInfo } from './command/set-info.ts';
import { treeConnect } from './command/tree-connect.ts';
import { treeDisconnect } from './command/tree-disconnect.ts';
import { write } from './command/write.ts';
import { CommandCode } from './wire/header.ts';

export type Need = 'nothing' | 'session' | 'tree';

interface Known {
  readonly need: Need;
  readonly command: Command;
}

const known = <Request>(need: Need, command: Command<Request>): Known => ({ need, command });

/** CANCEL is not among them: it has no answer (transport/smb-connection.ts). */
export const COMMANDS: ReadonlyMap<number, Known> = new Map([
  [CommandCode.NEGOTIATE, known('nothing', negotiate)],
  [CommandCode.SESSION_SETUP, known('nothing', sessionSetup)],
  [CommandCode.LOGOFF, known('session', logoff)],
  [CommandCode.TREE_CONNECT, known('session', treeConnect)],
  [CommandCode.TREE_DISCONNECT, known('tree', treeDisconnect)],
  [CommandCode.CREATE, known('tree', create)],
  [CommandCode.CLOSE, known('tree', close)],
  [CommandCode.FLUSH, known('tree', flush)],
  [CommandCode.READ, known('tree', read)],
  [CommandCode.WRITE, known('tree', write)],
  [CommandCode.LOCK, known('tree', lock)],
  [CommandCode.IOCTL, known('tree', ioctl)],
  [CommandCode.ECHO, known('nothing', echo)],
  [CommandCode.QUERY_DIRECTORY, known('tree', queryDirectory)],
  [CommandCode.CHANGE_NOTIFY, known('tree', changeNotify)],
  [CommandCode.QUERY_INFO, known('tree', queryInfo)],
  [CommandCode.SET_INFO, known('tree', setInfo)],
  [CommandCode.OPLOCK_BREAK, known('tree', oplockBreak)],
]);
