/**
 * What a path of the Table service names: `Tables`, `Tables('t')`, `t`, `t()`, `t(PartitionKey='p',RowKey='r')`, `$batch`.
 * Keys stand in single quotes, with those inside doubled, and percent-encoded like the rest of the path.
 */
import { refuseKey } from '../../rules/entity.ts';
import type { ErrorCode } from '../../rules/error-code.ts';
import { StorageError } from '../../service/storage-error.ts';
import { decodePercent } from '../request-target.ts';
import type { TableResource } from './operation.ts';
import { parseTableName } from './table-name.ts';

const CALL = /^([^(]+)\((.*)\)$/s;
const NAMED = /^\s*'((?:[^']|'')*)'\s*$/s;
const KEYS = /^\s*(PartitionKey|RowKey)\s*=\s*'((?:[^']|'')*)'\s*,\s*(PartitionKey|RowKey)\s*=\s*'((?:[^']|'')*)'\s*$/s;

/** `path` is still percent-encoded. */
export function parseResourcePath(path: string): TableResource {
  const text = decodePercent(path.endsWith('/') ? path.slice(0, -1) : path);
  if (text === '') return { kind: 'service' };
  if (text.toLowerCase() === '$batch') return { kind: 'batch' };
  const [, called, argument = ''] = CALL.exec(text) ?? [];
  const name = called ?? text;
  const isList = name.toLowerCase() === 'tables';
  if (called === undefined || argument.trim() === '') {
    return isList ? { kind: 'tables' } : { kind: 'entities', table: parseTableName(name) };
  }
  return isList ? parseTable(argument) : parseEntity(parseTableName(name), argument);
}

function parseTable(argument: string): TableResource {
  const quoted = NAMED.exec(argument)?.[1];
  if (quoted === undefined) throw invalidPath();
  return { kind: 'table', table: parseTableName(unquote(quoted)) };
}

function parseEntity(table: string, argument: string): TableResource {
  const [, first, firstValue = '', second, secondValue = ''] = KEYS.exec(argument) ?? [];
  if (first === undefined || first === second) throw invalidPath();
  const [partition, row] = first === 'PartitionKey' ? [firstValue, secondValue] : [secondValue, firstValue];
  const [partitionKey, rowKey] = [unquote(partition), unquote(row)];
  refuse(refuseKey(partitionKey) ?? refuseKey(rowKey));
  return { kind: 'entity', table, partitionKey, rowKey };
}

const unquote = (text: string): string => text.replaceAll("''", "'");

function refuse(code: ErrorCode | null): void {
  if (code !== null) throw new StorageError(code);
}

const invalidPath = (): StorageError =>
  new StorageError('InvalidUri', {
    message: "The path must be Tables, Tables('name'), name(), name(PartitionKey='p',RowKey='r') or $batch.",
  });
