/** Properties and metadata of a file, read and set; and its deletion. */
import { fileNeeds } from '../../auth/needs.ts';
import { deleteFile as remove } from '../../service/file/delete-file.ts';
import { getFileProperties as get } from '../../service/file/get-file.ts';
import { setFileMetadata as setMetadata, setFileProperties as setProperties } from '../../service/file/set-file.ts';
import { parseMetadata } from '../metadata.ts';
import type { Operation } from './operation.ts';
import { parseChangedProperties } from './property-headers.ts';
import { parseChangedContentHeaders, parseFileLength, parseFileRequest, refuseNfsHeaders } from './request-headers.ts';
import { fileHeaders, renderMetadataRead, renderMetadataSet, renderStored } from './response-headers.ts';

export const getFileProperties: Operation = {
  name: 'Get File Properties',
  need: fileNeeds.getFile,
  takesSnapshot: true,
  async handle(storage, exchange, resource) {
    const read = await get(storage, parseFileRequest(exchange, resource));
    const { headers: stored, lengthBytes } = read.node;
    const headers = fileHeaders(exchange, read).concat('Content-Length', String(lengthBytes));
    if (stored.contentMd5 !== undefined) headers.push('Content-MD5', stored.contentMd5);
    return { status: 200, headers };
  },
};

export const setFileProperties: Operation = {
  name: 'Set File Properties',
  need: fileNeeds.setFile,
  async handle(storage, exchange, resource) {
    refuseNfsHeaders(exchange);
    const stored = await setProperties(storage, {
      ...parseFileRequest(exchange, resource),
      headers: parseChangedContentHeaders(exchange),
      lengthBytes: parseFileLength(exchange),
      properties: parseChangedProperties(exchange, 'file'),
    });
    return renderStored(exchange, 200, stored);
  },
};

export const getFileMetadata: Operation = {
  name: 'Get File Metadata',
  need: fileNeeds.getFile,
  takesSnapshot: true,
  async handle(storage, exchange, resource) {
    return renderMetadataRead(exchange, await get(storage, parseFileRequest(exchange, resource)));
  },
};

export const setFileMetadata: Operation = {
  name: 'Set File Metadata',
  need: fileNeeds.setFile,
  async handle(storage, exchange, resource) {
    const request = { ...parseFileRequest(exchange, resource), metadata: parseMetadata(exchange) };
    return renderMetadataSet(exchange, await setMetadata(storage, request));
  },
};

export const deleteFile: Operation = {
  name: 'Delete File',
  need: fileNeeds.deleteFile,
  async handle(storage, exchange, resource) {
    await remove(storage, parseFileRequest(exchange, resource));
    return { status: 202, headers: [] };
  },
};
