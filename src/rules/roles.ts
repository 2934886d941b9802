/**
 * The built-in roles that a bearer token can name, and what each lets its holder do: the letters of a SAS, what only an
 * owner may (`controls`), and to ask for a user delegation key (`delegates`).
 * https://learn.microsoft.com/azure/role-based-access-control/built-in-roles/storage
 */
import type { ServiceLetter } from './acl.ts';

export interface Grant {
  /** Letters of a SAS, in one fixed order. */
  readonly permissions: string;
  /** Access policies and service properties; at files, shares as such. */
  readonly controls: boolean;
  readonly delegates: boolean;
}

interface Role extends Grant {
  readonly service: ServiceLetter;
}

/** Of all services. What a user delegation key is derived from holds a grant's letters in this order. */
const LETTERS = 'racwdxyltfmeopiu';

const OF_SMB: Role = { service: 'f', permissions: '', controls: false, delegates: false };

/**
 * No role for queues or tables controls: in Azure that is in roles of the resource manager, which does not exist here. One
 * of those is known all the same, and at files only, where not even a share is made by a role for data. Roles for SMB say
 * who may mount a share: over REST they are worth nothing, but whoever has one is not without a role.
 */
const ROLES = {
  'Storage Blob Data Owner': { service: 'b', permissions: 'racwdxyltfmeopi', controls: true, delegates: true },
  'Storage Blob Data Contributor': { service: 'b', permissions: 'racwdltfm', controls: false, delegates: true },
  'Storage Blob Data Reader': { service: 'b', permissions: 'rl', controls: false, delegates: true },
  'Storage Blob Delegator': { service: 'b', permissions: '', controls: false, delegates: true },
  'Storage Queue Data Contributor': { service: 'q', permissions: 'racwdlpu', controls: false, delegates: false },
  'Storage Queue Data Reader': { service: 'q', permissions: 'rl', controls: false, delegates: false },
  'Storage Queue Data Message Processor': { service: 'q', permissions: 'rp', controls: false, delegates: false },
  'Storage Queue Data Message Sender': { service: 'q', permissions: 'a', controls: false, delegates: false },
  'Storage Queue Delegator': { service: 'q', permissions: '', controls: false, delegates: true },
  'Storage Table Data Contributor': { service: 't', permissions: 'racwdlu', controls: false, delegates: false },
  'Storage Table Data Reader': { service: 't', permissions: 'rl', controls: false, delegates: false },
  'Storage Table Delegator': { service: 't', permissions: '', controls: false, delegates: true },
  'Storage Account Contributor': { service: 'f', permissions: '', controls: true, delegates: true },
  'Storage File Data Privileged Contributor': { service: 'f', permissions: 'rcwdl', controls: false, delegates: false },
  'Storage File Data Privileged Reader': { service: 'f', permissions: 'rl', controls: false, delegates: false },
  'Storage File Delegator': { service: 'f', permissions: '', controls: false, delegates: true },
  'Storage File Data SMB Share Elevated Contributor': OF_SMB,
  'Storage File Data SMB Share Contributor': OF_SMB,
  'Storage File Data SMB Share Reader': OF_SMB,
} as const satisfies Readonly<Record<string, Role>>;

export type RoleName = keyof typeof ROLES;

export const ROLE_NAMES = Object.keys(ROLES) as readonly RoleName[];

/** Some issuers allow neither spaces nor capitals in a role's name, so only letters and digits are compared. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

const BY_PLAIN_NAME: ReadonlyMap<string, RoleName> = new Map(ROLE_NAMES.map((name) => [plain(name), name]));

export const findRole = (text: string): RoleName | null => BY_PLAIN_NAME.get(plain(text)) ?? null;

const inOrder = (letters: string): string =>
  LETTERS.split('')
    .filter((letter) => letters.includes(letter))
    .join('');

/** What roles together allow at a service; those of other services add nothing. */
export function grantOf(names: readonly RoleName[], service: ServiceLetter): Grant {
  const roles = names.map((name): Role => ROLES[name]).filter((role) => role.service === service);
  return {
    permissions: inOrder(roles.map(({ permissions }) => permissions).join('')),
    controls: roles.some(({ controls }) => controls),
    delegates: roles.some(({ delegates }) => delegates),
  };
}

/** Sums are kept once however many sets of roles come to them: there are far fewer. */
function sumsOf(service: ServiceLetter): readonly string[] {
  let sums = [''];
  for (const role of Object.values(ROLES)) {
    if (role.service !== service) continue;
    sums = [...new Set([...sums, ...sums.map((sum) => inOrder(sum + role.permissions))])];
  }
  return sums.sort((a, b) => b.length - a.length);
}

const GRANTABLE: Readonly<Record<ServiceLetter, readonly string[]>> = {
  b: sumsOf('b'),
  q: sumsOf('q'),
  t: sumsOf('t'),
  f: sumsOf('f'),
};

/** Every set of letters that the roles of a service can add up to, the widest first. */
export const grantablePermissions = (service: ServiceLetter): readonly string[] => GRANTABLE[service];
