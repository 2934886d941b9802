/**
 * What the owner of a server decides per account: whether blobs keep versions, for how long a deleted container can be
 * restored, how long a blob takes to come back from the archive. Written as options, or by hand as a library.
 */
import { ConfigError } from './config-error.ts';
import type { OptionTexts } from './options.ts';

/** Settings of accounts. */
export interface AccountSettingOptions {
  /** The names of the accounts that keep versions of their blobs, or `all`. By default, no account does. */
  readonly versioning?: readonly string[];
  /** How many days a deleted container can be restored, 1 to 365. By default, it cannot be restored. */
  readonly containerRetentionDays?: number;
  /** How long it takes to rehydrate an archived blob, 0 to 86,400 seconds. The default is 5. */
  readonly rehydrationSeconds?: number;
}

/** As the services see it (service/storage.ts). */
export interface ChosenSettings {
  readonly keepsVersions: boolean;
  readonly containerRetentionDays: number | null;
  readonly rehydrationMs: number;
}

export const EVERY_ACCOUNT = 'all';

const RETENTION_DAYS_MAX = 365;
const REHYDRATION_SECONDS = 5;
const REHYDRATION_SECONDS_MAX = 86_400;

/** `accounts`: the names of all that there are. */
export function chooseAccountSettings(
  options: AccountSettingOptions,
  accounts: readonly string[],
): (account: string) => ChosenSettings {
  const { versioning = [], containerRetentionDays = null, rehydrationSeconds = REHYDRATION_SECONDS } = options;
  const unknown = versioning.find((name) => name !== EVERY_ACCOUNT && !accounts.includes(name));
  if (unknown !== undefined) {
    throw new ConfigError(`--versioning: there is no account "${unknown}". Use ${accounts.join(', ')} or all.`);
  }
  if (containerRetentionDays !== null) refuseOutside('--container-retention-days', containerRetentionDays, DAYS);
  refuseOutside('--rehydration-seconds', rehydrationSeconds, SECONDS);
  const rest = { containerRetentionDays, rehydrationMs: rehydrationSeconds * 1000 };
  return (account) => ({
    keepsVersions: versioning.includes(EVERY_ACCOUNT) || versioning.includes(account),
    ...rest,
  });
}

interface Bounds {
  readonly unit: string;
  readonly min: number;
  readonly max: number;
}

const DAYS: Bounds = { unit: 'days', min: 1, max: RETENTION_DAYS_MAX };
const SECONDS: Bounds = { unit: 'seconds', min: 0, max: REHYDRATION_SECONDS_MAX };

function refuseOutside(flag: string, value: number, { unit, min, max }: Bounds): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  throw new ConfigError(`${flag} takes a number of ${unit} from ${min} to ${max}, not "${value}".`);
}

/** Names of accounts are looked up by `chooseAccountSettings`, which knows all of them. */
export function readAccountSettings(texts: OptionTexts): AccountSettingOptions {
  const versioning = texts.versioning?.flatMap((text) => text.split(',')).filter((name) => name !== '');
  const [days, seconds] = [texts.containerRetentionDays?.[0], texts.rehydrationSeconds?.[0]];
  return {
    ...(versioning === undefined ? {} : { versioning }),
    ...(days === undefined ? {} : { containerRetentionDays: parseCount('--container-retention-days', days, DAYS) }),
    ...(seconds === undefined ? {} : { rehydrationSeconds: parseCount('--rehydration-seconds', seconds, SECONDS) }),
  };
}

function parseCount(flag: string, text: string, bounds: Bounds): number {
  if (!/^\d{1,6}$/.test(text)) {
    throw new ConfigError(
      `${flag} takes a number of ${bounds.unit} from ${bounds.min} to ${bounds.max}, not "${text}".`,
    );
  }
  refuseOutside(flag, Number(text), bounds);
  return Number(text);
}
