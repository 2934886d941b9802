/**
 * Writes test/vectors/smb-requests.json anew: what real clients (smbclient, impacket, Samba's smbtorture) send to negotiate and
 * after they have signed in, one request or compound of each kind. Run by hand; the fuzz test lives on what it leaves. Signatures
 * are cleared, and ids are those of a server that is gone.
 */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { splitCompound } from '../../src/smb/transport/compound.ts';
import { FrameReader } from '../../src/smb/transport/frames.ts';
import { CommandCode, FLAG_RELATED, FLAG_SIGNED, HEADER_BYTES } from '../../src/smb/wire/header.ts';
import type { RequestMessage } from '../../src/smb/wire/message.ts';
import { tool } from '../clients/tool.ts';
import { DEVELOPMENT_ACCOUNT } from '../harness/accounts.ts';
import { freshShare } from '../harness/file-clients.ts';
import { Impacket } from '../harness/impacket.ts';
import { startInProcess } from '../harness/in-process.ts';
import { torture } from './smbtorture.ts';

const MESSAGE_BYTES_MAX = 0xff_ffff;
/** Longer ones teach nothing new. */
const KEPT_BYTES_MAX = 1_200;
/** Whoever signs in says who it is; and whoever leaves ends what is tried. */
const LEFT_OUT: ReadonlySet<number> = new Set([CommandCode.SESSION_SETUP, CommandCode.LOGOFF]);
/** Those that send what others do not, and take a moment. */
const SUITES = [
  'create.gentest',
  'create.blob',
  'create.open',
  'create.aclfile',
  'create.acldir',
  'create.mkdir-dup',
  'compound',
  'lock.valid-request',
  'lock.rw-shared',
  'lock.multiple-unlock',
  'ioctl',
  'getinfo',
  'setinfo',
  'dir.find',
  'dir.one',
  'dir.fixed',
  'dir.sorted',
  'notify.dir',
  'rename.simple',
  'read',
  'lease.request',
  'lease.v2_request',
  'lease.upgrade',
  'oplock.exclusive1',
  'oplock.batch1',
  'durable-open.open-oplock',
  'durable-open.reopen1',
  'durable-v2-open.open-oplock',
  'durable-v2-open.reopen1',
  'durable-v2-open.create-blob',
  'acls.GENERIC',
  'timestamps.freeze-thaw',
  'compound_find',
];

const server = await startInProcess({ smb: 'optional' });
const share = await freshShare(server);
const { name: account, key } = DEVELOPMENT_ACCOUNT;

const captured: Record<string, string[]> = {};
const seen = new Set<string>();

/** A way to the server: what goes over it is kept as that client's. */
async function recording(client: string, run: (port: number) => Promise<unknown>): Promise<void> {
  const way = createServer((near) => {
    const far = connect({ host: '127.0.0.1', port: server.smbPort });
    const frames = new FrameReader(() => MESSAGE_BYTES_MAX);
    near.on('data', (bytes) => {
      for (const message of frames.push(Buffer.from(bytes))) keep(client, message);
    });
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
    near.pipe(far).pipe(near);
  });
  way.listen(0, '127.0.0.1');
  await once(way, 'listening');
  await run((way.address() as AddressInfo).port);
  way.close();
}

function keep(client: string, message: Buffer): void {
  if (message.length > KEPT_BYTES_MAX) return;
  const requests = splitCompound(Buffer.from(message));
  if (requests === null || requests.some(({ header }) => LEFT_OUT.has(header.command))) return;
  const kind = requests.map(kindOf).join(' + ');
  if (seen.has(kind)) return;
  seen.add(kind);
  for (const { bytes, header } of requests) {
    bytes.writeUInt32LE((header.flags & ~FLAG_SIGNED) >>> 0, 16);
    bytes.fill(0, 48, HEADER_BYTES);
  }
  const isFirst = requests[0]?.header.command === CommandCode.NEGOTIATE;
  (captured[isFirst ? 'negotiate' : client] ??= []).push(
    Buffer.concat(requests.map(({ bytes }) => bytes)).toString('hex'),
  );
}

/** What tells requests of one command apart. */
function kindOf({ header, bytes }: RequestMessage): string {
  const { command } = header;
  const body = bytes.subarray(HEADER_BYTES);
  const isRelated = (header.flags & FLAG_RELATED) !== 0 ? 'related ' : '';
  const fields: Readonly<Record<number, readonly [number, number]>> = {
    [CommandCode.CLOSE]: [2, 2],
    [CommandCode.LOCK]: [40, 4],
    [CommandCode.IOCTL]: [4, 4],
    [CommandCode.QUERY_DIRECTORY]: [2, 2],
    [CommandCode.CHANGE_NOTIFY]: [2, 2],
    [CommandCode.QUERY_INFO]: [2, 2],
    [CommandCode.SET_INFO]: [2, 2],
    [CommandCode.OPLOCK_BREAK]: [0, 3],
  };
  const field = fields[command];
  const told = field === undefined ? '' : body.toString('hex', field[0], field[0] + field[1]);
  if (command === CommandCode.NEGOTIATE) return `${command} ${body.length}`;
  return `${isRelated}${command} ${command === CommandCode.CREATE ? createKind(body) : told}`;
}

function createKind(body: Buffer): string {
  const contexts = body.subarray(body.readUInt32LE(48) === 0 ? body.length : body.readUInt32LE(48) - HEADER_BYTES);
  const names = contexts.toString('latin1').match(/(?:MxAc|QFid|AlSi|TWrp|SecD|ExtA|RqLs|DH[n2][QC])/g) ?? [];
  return `${body.readUInt8(3)} ${body.readUInt32LE(36)} ${body.readUInt32LE(40) & 0x1041} ${names.join()}`;
}

await recording('smbclient', async (port) => {
  const folder = await mkdtemp(join(tmpdir(), 'larimar-capture-'));
  await writeFile(join(folder, 'local'), 'some text');
  const program = tool('smbclient', { cwd: folder, env: {} });
  const plain = ['-m', 'SMB2_10', '--client-protection=off', '-p', String(port), '-U', `${account}%${key}`];
  const commands = [
    'mkdir d',
    'put local d/f',
    'ls',
    'cd d',
    'ls *',
    'allinfo f',
    'stat f',
    'get f fetched',
    'scopy f g',
    'rename g h',
    'hardlink f i',
    'setmode h +r',
    'setmode h -r',
    'utimes h -1 -1 -1 -1',
    'altname h',
    'append local h',
    'allinfo h',
    'showacls',
    'ls',
    'showacls',
    'volume',
    'du',
    'deltree nowhere',
    'del h',
    'cd ..',
    'del d\\f',
    'rmdir d',
    'tid',
    'listconnect',
    'tdis',
  ];
  await program.run(`//127.0.0.1/${share.name}`, ...plain, '-c', commands.join('; '));
  await program.run('-L', '//127.0.0.1', ...plain);
  await rm(folder, { recursive: true });
});

await recording('impacket', async (port) => {
  const impacket = new Impacket();
  const client = await impacket.connect('capture', { port, share: share.name, dialect: '2.1' });
  const file = await client.open('impacket', {
    access: 0x1f_01ff,
    disposition: 'openIf',
    lease: 'RWH',
    isDurable: true,
  });
  await file.write('some text');
  await file.read();
  await file.flush();
  await file.lock(0, 10);
  await file.unlock(0, 10);
  await file.setEndOfFile(4);
  await file.setBasic({ attributes: 0x20 });
  await file.standard();
  await file.basic();
  await file.all();
  await file.rename('impacket-renamed');
  await file.markForDeletion(true);
  await file.close();
  await client.echo();
  await client.leaveShare();
  await impacket.close();
});

for (const suite of SUITES) {
  await recording('smbtorture', (port) => torture(suite, { port, share: share.name, account, key }));
}

const lines = Object.entries(captured).map(
  ([client, requests]) => `  "${client}": [\n${requests.map((hex) => `    "${hex}"`).join(',\n')}\n  ]`,
);
await writeFile(join('test', 'vectors', 'smb-requests.json'), `{\n${lines.join(',\n')}\n}\n`);
console.log(Object.entries(captured).map(([client, requests]) => `${client}: ${requests.length}`));
process.exit();
