/** Get and Set Share ACL. */

import { fileNeeds } from '../../auth/needs.ts';
import { getShare, setShareAcl as setAcl } from '../../service/file/use-share.ts';
import { POLICIES_BYTES_MAX, parsePolicies, renderPolicies } from '../access-policies.ts';
import { readWhole } from '../body.ts';
import { etagHeaders } from '../reply-headers.ts';
import type { Operation } from './operation.ts';
import { parseBaseShareRequest } from './share-headers.ts';

const SHARE_PERMISSIONS = 'rcwdl';

export const getShareAcl: Operation = {
  name: 'Get Share ACL',
  need: fileNeeds.getShareAcl,
  async handle(storage, exchange, resource) {
    const { base } = await getShare(storage, { ...parseBaseShareRequest(exchange, resource), snapshot: null });
    return {
      status: 200,
      headers: ['Content-Type', 'application/xml', ...etagHeaders(exchange, base)],
      body: renderPolicies(base.policies),
    };
  },
};

export const setShareAcl: Operation = {
  name: 'Set Share ACL',
  need: fileNeeds.setShareAcl,
  async handle(storage, exchange, resource) {
    const request = parseBaseShareRequest(exchange, resource);
    const body = await readWhole(exchange, { maxBytes: POLICIES_BYTES_MAX });
    const policies = parsePolicies(body, { letters: SHARE_PERMISSIONS });
    return { status: 200, headers: etagHeaders(exchange, await setAcl(storage, { ...request, policies })) };
  },
};
