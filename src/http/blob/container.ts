/** Create, Get Properties, Get and Set Metadata, Delete Container. */

import { blobNeeds } from '../../auth/needs.ts';
import { createContainer as create } from '../../service/blob/create-container.ts';
import {
  getContainer,
  deleteContainer as remove,
  setContainerMetadata as setMetadata,
} from '../../service/blob/use-container.ts';
import type { ContainerRecord } from '../../service/records/container-record.ts';
import { notYet } from '../../service/storage-error.ts';
import { containerNameOf, type Operation } from './operation.ts';
import { parseContainerRequest, parseMetadata, parsePublicAccess } from './request-headers.ts';
import { etagHeaders, leaseResponseHeaders, metadataHeaders } from './response-headers.ts';

/** The one scope there is: what everything is stored under. */
const DEFAULT_ENCRYPTION_SCOPE = '$account-encryption-key';

export const createContainer: Operation = {
  name: 'Create Container',
  need: blobNeeds.createContainer,
  async handle(storage, exchange, resource) {
    const scope = exchange.header('x-ms-default-encryption-scope');
    if (scope !== null && scope !== DEFAULT_ENCRYPTION_SCOPE) throw notYet('An encryption scope');
    const container = await create(storage, {
      name: containerNameOf(exchange, resource),
      metadata: parseMetadata(exchange),
      publicAccess: parsePublicAccess(exchange),
    });
    return { status: 201, headers: etagHeaders(exchange, container) };
  },
};

export const getContainerProperties: Operation = {
  name: 'Get Container Properties',
  need: blobNeeds.getContainerProperties,
  async handle(storage, exchange, resource) {
    const { container, nowMs } = await getContainer(storage, parseContainerRequest(exchange, resource));
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
        'false',
        'x-ms-default-encryption-scope',
        DEFAULT_ENCRYPTION_SCOPE,
        'x-ms-deny-encryption-scope-override',
        'false',
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
