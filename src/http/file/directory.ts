/** Operations on a directory itself. What is in it, and its name, have files of their own. */
import { fileNeeds } from '../../auth/needs.ts';
import { createDirectory as create } from '../../service/file/create-directory.ts';
import { deleteDirectory as remove } from '../../service/file/delete-directory.ts';
import {
  getDirectory as get,
  setDirectoryMetadata as setMetadata,
  setDirectoryProperties as setProperties,
} from '../../service/file/use-directory.ts';
import { metadataHeaders, parseMetadata } from '../metadata.ts';
import { nodeRequestOf, type Operation } from './operation.ts';
import { parseChangedProperties, parseNewProperties } from './property-headers.ts';
import { refuseNfsHeaders } from './request-headers.ts';
import {
  nodeHeaders,
  READ_ENCRYPTED,
  renderMetadataRead,
  renderMetadataSet,
  renderStored,
} from './response-headers.ts';

export const createDirectory: Operation = {
  name: 'Create Directory',
  need: fileNeeds.createDirectory,
  async handle(storage, exchange, resource) {
    refuseNfsHeaders(exchange);
    const stored = await create(storage, {
      ...nodeRequestOf(exchange, resource),
      properties: parseNewProperties(exchange, 'directory'),
      metadata: parseMetadata(exchange),
    });
    return renderStored(exchange, 201, stored);
  },
};

export const getDirectoryProperties: Operation = {
  name: 'Get Directory Properties',
  need: fileNeeds.getDirectory,
  takesSnapshot: true,
  async handle(storage, exchange, resource) {
    const stored = await get(storage, nodeRequestOf(exchange, resource));
    const headers = [...nodeHeaders(exchange, stored), ...READ_ENCRYPTED, ...metadataHeaders(stored.node.metadata)];
    return { status: 200, headers };
  },
};

export const setDirectoryProperties: Operation = {
  name: 'Set Directory Properties',
  need: fileNeeds.setDirectory,
  async handle(storage, exchange, resource) {
    refuseNfsHeaders(exchange);
    const properties = parseChangedProperties(exchange, 'directory');
    const stored = await setProperties(storage, { ...nodeRequestOf(exchange, resource), properties });
    return renderStored(exchange, 200, stored);
  },
};

export const getDirectoryMetadata: Operation = {
  name: 'Get Directory Metadata',
  need: fileNeeds.getDirectory,
  takesSnapshot: true,
  async handle(storage, exchange, resource) {
    return renderMetadataRead(exchange, await get(storage, nodeRequestOf(exchange, resource)));
  },
};

export const setDirectoryMetadata: Operation = {
  name: 'Set Directory Metadata',
  need: fileNeeds.setDirectory,
  async handle(storage, exchange, resource) {
    const request = { ...nodeRequestOf(exchange, resource), metadata: parseMetadata(exchange) };
    return renderMetadataSet(exchange, await setMetadata(storage, request));
  },
};

export const deleteDirectory: Operation = {
  name: 'Delete Directory',
  need: fileNeeds.deleteDirectory,
  async handle(storage, exchange, resource) {
    await remove(storage, nodeRequestOf(exchange, resource));
    return { status: 202, headers: [] };
  },
};
