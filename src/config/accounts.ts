/** Accounts as the user writes them: NAME:KEY or NAME:KEY:KEY2. */
import type { Account } from '../auth/identity.ts';
import { refuseAccountName } from '../rules/names.ts';
import { ConfigError } from './config-error.ts';

/** The account that every Azure SDK means by `UseDevelopmentStorage=true`. Its key is public. */
export const DEVELOPMENT_ACCOUNT = 'devstoreaccount1';
export const DEVELOPMENT_KEY =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

const KEY_BYTES_MIN = 16;
const NAME_LENGTH_MAX = 24;

/** An account and its keys. */
export interface AccountSetting {
  /** 3 to 24 lower-case letters and digits. */
  readonly name: string;
  /** One or two keys of at least 16 bytes, in Base64. */
  readonly keys: readonly string[];
}

export function parseAccountSetting(text: string): AccountSetting {
  const [name = '', ...keys] = text.split(':');
  if (keys.length < 1 || keys.length > 2) {
    throw new ConfigError('An account is written NAME:KEY or NAME:KEY:KEY2, with Base64 keys.');
  }
  return { name, keys };
}

/** The given accounts, and the development account where they do not redefine it. */
export function makeAccounts(
  settings: readonly AccountSetting[],
  { allowDevelopmentAccount }: { allowDevelopmentAccount: boolean },
): ReadonlyMap<string, Account> {
  const accounts = new Map<string, Account>();
  const all = [{ name: DEVELOPMENT_ACCOUNT, keys: [DEVELOPMENT_KEY] }, ...settings];
  for (const { name, keys } of all) {
    if (refuseAccountName(name) !== null) {
      // A key in the name's place must not end up in a log.
      const shown = name.length > NAME_LENGTH_MAX ? 'That' : `"${name}"`;
      throw new ConfigError(
        `${shown} is not an account name: use 3 to ${NAME_LENGTH_MAX} lower-case letters and digits.`,
      );
    }
    if (keys.length < 1 || keys.length > 2) throw new ConfigError(`Account ${name} needs one or two keys.`);
    const isRedefined = name === DEVELOPMENT_ACCOUNT && accounts.size === 1;
    if (accounts.has(name) && !isRedefined) throw new ConfigError(`Account ${name} is given twice.`);
    const loopbackOnly = keys.includes(DEVELOPMENT_KEY) && !allowDevelopmentAccount;
    accounts.set(name, { name, keys: keys.map((key) => decodeKey(name, key)), loopbackOnly });
  }
  return accounts;
}

/** Says which account is wrong and never shows the key. */
function decodeKey(account: string, text: string): Buffer {
  const key = Buffer.from(text, 'base64');
  if (key.length < KEY_BYTES_MIN || key.toString('base64') !== text) {
    throw new ConfigError(
      `The key of account ${account} is not Base64 for at least ${KEY_BYTES_MIN} bytes. ` +
        "Make one with: openssl rand -base64 64 | tr -d '\\n'",
    );
  }
  return key;
}
