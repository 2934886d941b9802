import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ACCOUNT, TestStore } from '../../test/harness/store.ts';
import { transact } from '../engine/transact.ts';
import { encodeJson } from './records/codec.ts';
import { servicePropertiesKey } from './records/keys.ts';
import { DEFAULT_PROPERTIES, getServiceProperties, setServiceProperties } from './service-properties.ts';

test('a record of an earlier release has no website and keeps nothing that is deleted, until it is changed', async (t) => {
  const store = await TestStore.open();
  t.after(() => store.close());
  const { storage } = store;
  const { staticWebsite: _site, deleteRetention: _retention, ...earlier } = DEFAULT_PROPERTIES;
  const stored = { ...earlier, defaultServiceVersion: '2021-12-02' };
  await transact(storage.engine, async (tx) => tx.put(servicePropertiesKey(ACCOUNT, 'b'), encodeJson(stored)));
  const before = { ...stored, staticWebsite: { enabled: false }, deleteRetention: { enabled: false } };
  assert.deepEqual(await getServiceProperties(storage, ACCOUNT, 'b'), before);

  const deleteRetention = { enabled: true, days: 7, allowPermanentDelete: true };
  await setServiceProperties(storage, ACCOUNT, 'b', { deleteRetention });
  assert.deepEqual(await getServiceProperties(storage, ACCOUNT, 'b'), { ...before, deleteRetention });
});

test('of the protocols of the File service what is not said stays, and all else of it too', async (t) => {
  const store = await TestStore.open();
  t.after(() => store.close());
  const { storage } = store;
  const shareDeleteRetention = { enabled: true, days: 7 };
  await setServiceProperties(storage, ACCOUNT, 'f', { shareDeleteRetention, smb: { versions: ['SMB3.1.1'] } });
  await setServiceProperties(storage, ACCOUNT, 'f', { smb: { multichannel: true } });
  await setServiceProperties(storage, ACCOUNT, 'f', { nfs: { encryptionRequired: true } });
  assert.deepEqual(await getServiceProperties(storage, ACCOUNT, 'f'), {
    ...DEFAULT_PROPERTIES,
    shareDeleteRetention,
    smb: { versions: ['SMB3.1.1'], multichannel: true },
    nfs: { encryptionRequired: true },
  });
  await setServiceProperties(storage, ACCOUNT, 'f', { smb: { versions: [] } });
  const { smb } = await getServiceProperties(storage, ACCOUNT, 'f');
  assert.deepEqual(smb, { versions: [], multichannel: true });
});
