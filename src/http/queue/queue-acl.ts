/** Get and Set Queue ACL. */
import { queueNeeds } from '../../auth/needs.ts';
import { getQueue, setQueueAcl as setAcl } from '../../service/queue/use-queue.ts';
import { POLICIES_BYTES_MAX, parsePolicies, renderPolicies } from '../access-policies.ts';
import { readWhole } from '../body.ts';
import { type Operation, queueNameOf } from './operation.ts';

const QUEUE_PERMISSIONS = 'raup';

export const getQueueAcl: Operation = {
  name: 'Get Queue ACL',
  need: queueNeeds.getQueueAcl,
  async handle(storage, exchange, resource) {
    const { policies } = await getQueue(storage, queueNameOf(exchange, resource));
    return { status: 200, headers: ['Content-Type', 'application/xml'], body: renderPolicies(policies) };
  },
};

export const setQueueAcl: Operation = {
  name: 'Set Queue ACL',
  need: queueNeeds.setQueueAcl,
  async handle(storage, exchange, resource) {
    const body = await readWhole(exchange, { maxBytes: POLICIES_BYTES_MAX });
    await setAcl(storage, queueNameOf(exchange, resource), parsePolicies(body, { letters: QUEUE_PERMISSIONS }));
    return { status: 204, headers: [] };
  },
};
