/** Create, Get Properties, Get and Set Metadata, Delete Container. */

import { blobNeeds } from '../../auth/needs.ts';
import type { ContainerScope } from '../../rules/encryption.ts';
import { createContainer as create } from '../../service/blob/create-container.ts';
import {
  getContainer,
  deleteContainer as remove,
  setContainerMetadata as setMetadata,
} from '../../service/blob/use-container.ts';
import type { ContainerRecord } from '../../service/records/container-record.ts';
import { invalidHeader, missingHeader } from '../../service/storage-error.ts';
import type { Exchange } from '../exchange.ts';
import { parseFlag } from '../header-values.ts';
import { metadataHeaders, parseMetadata } from '../metadata.ts';
import { etagHeaders, leaseResponseHeaders } from '../reply-headers.ts';
import { containerNameOf, type Operation } from './operation.ts';
import { parseContainerRequest, parsePublicAccess } from './request-headers.ts';

const DEFAULT_SCOPE = 'x-ms-default-encryption-scope';
const DENY_OVERRIDE = 'x-ms-deny-encryption-scope-override';
/** What everything is encrypted in where nobody says otherwise. */
const ACCOUNT_SCOPE = '$account-encryption-key';
const SCOPE_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

export const createContainer: Operation = {
  name: 'Create Container',
  need: blobNeeds.createContainer,
  async handle(storage, exchange, resource) {
    const container = await create(storage, {
      name: containerNameOf(exchange, resource),
      metadata: parseMetadata(exchange),
      publicAccess: parsePublicAccess(exchange),
      encryptionScope: parseContainerScope(exchange),
    });
    return { status: 201, headers: etagHeaders(exchange, container) };
  },
};

function parseContainerScope(exchange: Exchange): ContainerScope | null {
  const name = exchange.header(DEFAULT_SCOPE);
  const deniesOthers = parseFlag(exchange, DENY_OVERRIDE);
  if (name === null) {
    if (deniesOthers) throw missingHeader(DEFAULT_SCOPE);
    return null;
  }
  if (name !== ACCOUNT_SCOPE && !SCOPE_NAME.test(name)) throw invalidHeader(DEFAULT_SCOPE, name);
  return name === ACCOUNT_SCOPE && !deniesOthers ? null : { name, deniesOthers };
}

/** As properties and listings tell it. */
export const reportedScope = ({ encryptionScope }: ContainerRecord): ContainerScope =>
  encryptionScope ?? { name: ACCOUNT_SCOPE, deniesOthers: false };

export const getContainerProperties: Operation = {
  name: 'Get Container Properties',
  need: blobNeeds.getContainerProperties,
  async handle(storage, exchange, resource) {
    const { container, nowMs } = await getContainer(storage, parseContainerRequest(exchange, resource));
    const scope = reportedScope(container);
    const { keepsVersions } = storage.settings(exchange.target.account);
    return {
      status: 200,
      headers: [
        ...etagHeaders(exchange, container),
        ...leaseResponseHeaders(container.lease, nowMs),
        ...publicAccessHeaders(container),
        'x-ms-has-immutability-policy',
        'false',
        'x-ms-has-legal-hold',
        'false',
        'x-ms-immutable-storage-with-versioning-enabled',
        String(keepsVersions),
        DEFAULT_SCOPE,
        scope.name,
        DENY_OVERRIDE,
        String(scope.deniesOthers),
        ...metadataHeaders(container.metadata),
      ],
    };
  },
};

export const getContainerMetadata: Operation = {
  name: 'Get Container Metadata',
  need: blobNeeds.getContainerMetadata,
  async handle(storage, exchange, resource) {
    const { container } = await getContainer(storage, parseContainerRequest(exchange, resource));
    return { status: 200, headers: [...etagHeaders(exchange, container), ...metadataHeaders(container.metadata)] };
  },
};

export const setContainerMetadata: Operation = {
  name: 'Set Container Metadata',
  need: blobNeeds.setContainerMetadata,
  async handle(storage, exchange, resource) {
    const request = { ...parseContainerRequest(exchange, resource), metadata: parseMetadata(exchange) };
    return { status: 200, headers: etagHeaders(exchange, await setMetadata(storage, request)) };
  },
};

export const deleteContainer: Operation = {
  name: 'Delete Container',
  need: blobNeeds.deleteContainer,
  async handle(storage, exchange, resource) {
    await remove(storage, parseContainerRequest(exchange, resource));
    return { status: 202, headers: [] };
  },
};

export const publicAccessHeaders = ({ publicAccess }: ContainerRecord): string[] =>
  publicAccess === null ? [] : ['x-ms-blob-public-access', publicAccess];
