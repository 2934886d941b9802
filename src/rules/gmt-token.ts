/** Snapshots of a share as SMB names them: `@GMT-YYYY.MM.DD-HH.MM.SS`, to the second ([MS-SMB2] 2.2.32.2). */
import type { Moment } from './moment.ts';

const MOMENT_PARTS = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)/;

export function formatGmtToken(moment: Moment): string {
  const [, year, month, day, hour, minute, second] = MOMENT_PARTS.exec(moment) ?? [];
  return `@GMT-${year}.${month}.${day}-${hour}.${minute}.${second}`;
}
