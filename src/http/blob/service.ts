/** Operations on the account's Blob service as a whole. */
import { getAccountInformation as accountInformationNeed, blobNeeds } from '../../auth/needs.ts';
import { WEB_CONTAINER } from '../../rules/website.ts';
import { createContainer } from '../../service/blob/create-container.ts';
import type { Storage } from '../../service/storage.ts';
import { StorageError } from '../../service/storage-error.ts';
import { answerGetProperties, answerGetStats, answerSetProperties } from '../service-operations.ts';
import type { Operation } from './operation.ts';

export const getServiceProperties: Operation = {
  name: 'Get Blob Service Properties',
  need: blobNeeds.getServiceProperties,
  handle: answerGetProperties,
};

export const setServiceProperties: Operation = {
  name: 'Set Blob Service Properties',
  need: blobNeeds.setServiceProperties,
  handle: (storage, exchange) =>
    answerSetProperties(storage, exchange, async ({ staticWebsite }) => {
      if (staticWebsite?.enabled === true) await makeWebContainer(storage, exchange.target.account);
    }),
};

/** A website that is switched on has a place for its pages. */
async function makeWebContainer(storage: Storage, account: string): Promise<void> {
  try {
    await createContainer(storage, { name: { account, container: WEB_CONTAINER }, metadata: [], publicAccess: null });
  } catch (error) {
    if (!(error instanceof StorageError && error.code === 'ContainerAlreadyExists')) throw error;
  }
}

export const getServiceStats: Operation = {
  name: 'Get Blob Service Stats',
  need: blobNeeds.getServiceStats,
  handle: answerGetStats,
};

const ACCOUNT_INFORMATION: readonly string[] = [
  'x-ms-sku-name',
  'Standard_RAGRS',
  'x-ms-account-kind',
  'StorageV2',
  'x-ms-is-hns-enabled',
  'false',
];

export const getAccountInformation: Operation = {
  name: 'Get Account Information',
  need: (exchange) => {
    const segmentCount = exchange.target.resourcePath.split('/').filter((segment) => segment !== '').length;
    return accountInformationNeed(['container', 'blob'].slice(0, segmentCount));
  },
  async handle() {
    return { status: 200, headers: ACCOUNT_INFORMATION };
  },
};
