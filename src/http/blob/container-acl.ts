/** Get and Set Container ACL. */

import { blobNeeds } from '../../auth/needs.ts';
import { getContainer, setContainerAcl as setAcl } from '../../service/blob/use-container.ts';
import { POLICIES_BYTES_MAX, parsePolicies, renderPolicies } from '../access-policies.ts';
import { readWhole } from '../body.ts';
import { etagHeaders } from '../reply-headers.ts';
import { publicAccessHeaders } from './container.ts';
import type { Operation } from './operation.ts';
import { parseContainerRequest, parsePublicAccess } from './request-headers.ts';

const BLOB_PERMISSIONS = 'racwdxyltfmeopi';

export const getContainerAcl: Operation = {
  name: 'Get Container ACL',
  need: blobNeeds.getContainerAcl,
  async handle(storage, exchange, resource) {
    const { container } = await getContainer(storage, parseContainerRequest(exchange, resource));
    return {
      status: 200,
      headers: [
        ...etagHeaders(exchange, container),
        ...publicAccessHeaders(container),
        'Content-Type',
        'application/xml',
      ],
      body: renderPolicies(container.policies),
    };
  },
};

export const setContainerAcl: Operation = {
  name: 'Set Container ACL',
  need: blobNeeds.setContainerAcl,
  async handle(storage, exchange, resource) {
    const request = { ...parseContainerRequest(exchange, resource), publicAccess: parsePublicAccess(exchange) };
    const policies = parsePolicies(await readWhole(exchange, { maxBytes: POLICIES_BYTES_MAX }), {
      letters: BLOB_PERMISSIONS,
    });
    return { status: 200, headers: etagHeaders(exchange, await setAcl(storage, { ...request, policies })) };
  },
};
