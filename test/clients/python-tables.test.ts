/** Microsoft's Python library for tables as Debian packages it (in python3-azure). */
// tier: system
// engines: embedded
import { missingTool } from '../packages.ts';
import { tellPythonStory } from './python-story.ts';

const SCRIPT = `
import os
from datetime import datetime, timedelta, timezone
from uuid import UUID
from azure.core import MatchConditions
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import (
    HttpResponseError, ResourceExistsError, ResourceModifiedError, ResourceNotFoundError)
from azure.data.tables import (
    EdmType, EntityProperty, TableAccessPolicy, TableClient, TableServiceClient, TableTransactionError, UpdateMode,
    generate_table_sas)

# Some errors come without the code that the library reads for others.
code_of = lambda error: getattr(error, 'error_code', None) or error.response.headers['x-ms-error-code']

service = TableServiceClient.from_connection_string(os.environ['CONNECTION_STRING'], retry_total=0)

# Tables.
table = service.create_table('Snakes')
refused(ResourceExistsError, 'TableAlreadyExists', service.create_table, 'sNAKES')
assert service.create_table_if_not_exists('Snakes').table_name == 'Snakes'
for name in ('SnakesA', 'SnakesB', 'SnakesC'):
    service.create_table(name)
pages = [[t.name for t in page] for page in service.list_tables(results_per_page=3).by_page()]
assert pages == [['Snakes', 'SnakesA', 'SnakesB'], ['SnakesC']], pages
found = service.query_tables('TableName eq @name', parameters={'name': 'SnakesB'})
assert [t.name for t in found] == ['SnakesB']
for name in ('no-table', 'no', 'n' * 64):
    try:
        service.create_table(name)
        raise AssertionError('should have been refused')
    except ValueError:
        pass

# Every type, both ways.
when = datetime(2024, 5, 1, 12, 34, 56, 789012, tzinfo=timezone.utc)
entity = {
    'PartitionKey': "it's 100% +", 'RowKey': 'r\\u00fc \\U0001faa8', 'text': '', 'n': -5, 'yes': True, 'part': 0.1, 'whole': 3.0,
    'big': EntityProperty(2 ** 63 - 1, EdmType.INT64), 'id': UUID('c9da6455-213d-42c9-9a79-3e9149a57833'),
    'bytes': bytes(range(256)), 'when': when, 'nothing': None, 'endless': float('-inf'),
}
created = table.create_entity(entity)
refused(ResourceExistsError, 'EntityAlreadyExists', table.create_entity, entity)
got = table.get_entity(entity['PartitionKey'], entity['RowKey'])
assert got.metadata['etag'] == created['etag']
assert isinstance(got.metadata['timestamp'], datetime)
assert 'nothing' not in got
for name in entity:
    if name != 'nothing':
        assert got[name] == entity[name], (name, got[name], entity[name])
assert isinstance(got['whole'], float)

# Upserts, updates, and their modes.
key = {'PartitionKey': 'p', 'RowKey': 'r'}
refused(ResourceNotFoundError, 'ResourceNotFound', table.update_entity, {**key, 'a': 1})
table.upsert_entity({**key, 'a': 1, 'b': 2}, mode=UpdateMode.MERGE)
table.upsert_entity({**key, 'b': 3}, mode=UpdateMode.MERGE)
assert dict(table.get_entity('p', 'r')) == {**key, 'a': 1, 'b': 3}
table.upsert_entity({**key, 'c': 4}, mode=UpdateMode.REPLACE)
assert dict(table.get_entity('p', 'r')) == {**key, 'c': 4}

# Conditions.
first = table.get_entity('p', 'r').metadata['etag']
matching = {'mode': UpdateMode.REPLACE, 'match_condition': MatchConditions.IfNotModified}
second = table.update_entity({**key, 'c': 5}, etag=first, **matching)['etag']
assert second != first
refused(ResourceModifiedError, 'UpdateConditionNotSatisfied', table.update_entity, {**key, 'c': 6}, etag=first, **matching)
refused(ResourceModifiedError, 'UpdateConditionNotSatisfied', table.delete_entity, 'p', 'r', etag=first,
        match_condition=MatchConditions.IfNotModified)
assert table.get_entity('p', 'r')['c'] == 5
table.delete_entity('p', 'r', etag=second, match_condition=MatchConditions.IfNotModified)
refused(ResourceNotFoundError, 'ResourceNotFound', table.get_entity, 'p', 'r')

# Transactions.
rows = [{'PartitionKey': 't', 'RowKey': '%03d' % n, 'n': n, 'even': n % 2 == 0, 'when': when + timedelta(days=n)} for n in range(100)]
answers = table.submit_transaction([('upsert', row, {'mode': 'replace'}) for row in rows])
assert len(answers) == 100 and len({a['etag'] for a in answers}) == 100
try:
    table.submit_transaction([('delete', rows[0]), ('update', {**rows[1], 'n': 101}), ('create', rows[2])])
    raise AssertionError('should have been refused')
except TableTransactionError as error:
    assert error.error_code == 'EntityAlreadyExists' and error.index == 2, (error.error_code, error.index)
assert table.get_entity('t', '000')['n'] == 0 and table.get_entity('t', '001')['n'] == 1
try:
    table.submit_transaction([('create', {**key, 'RowKey': '1'}), ('create', {'PartitionKey': 'other', 'RowKey': '1'})])
    raise AssertionError('should have been refused')
except (ValueError, TableTransactionError):
    pass

# Queries: with parameters of each type, selections, page by page.
def rows_where(text, **parameters):
    return [e['RowKey'] for e in table.query_entities(text, parameters=parameters)]
assert rows_where('PartitionKey eq @pk and n ge @n', pk='t', n=98) == ['098', '099']
assert rows_where('PartitionKey eq @pk and even eq @even and n lt @n', pk='t', even=True, n=5) == ['000', '002', '004']
assert rows_where('when gt @when', when=when + timedelta(days=97)) == ['098', '099']
assert rows_where('id eq @id', id=entity['id']) == [entity['RowKey']]
assert rows_where('bytes eq @bytes', bytes=entity['bytes']) == [entity['RowKey']]
assert rows_where('part eq @part', part=0.1) == [entity['RowKey']]
assert rows_where('PartitionKey eq @pk', pk="it's 100% +") == [entity['RowKey']]
pages = table.query_entities("PartitionKey eq 't'", results_per_page=30, select=['n']).by_page()
sizes = []
numbers = []
for page in pages:
    part = [e['n'] for e in page]
    sizes.append(len(part))
    numbers += part
assert sizes == [30, 30, 30, 10] and numbers == list(range(100)), sizes
paged = table.list_entities(results_per_page=60).by_page()
seen = [e['RowKey'] for e in next(paged)]
resumed = table.list_entities(results_per_page=60).by_page(continuation_token=paged.continuation_token)
seen += [e['RowKey'] for page in resumed for e in page]
assert len(seen) == 101 and len(set(seen)) == 101, len(seen)
refused(HttpResponseError, 'InvalidInput', lambda: list(table.query_entities('n eq')))
refused(HttpResponseError, 'NotImplemented', lambda: list(table.query_entities("startswith(text,'a')")))

# Policies, and a signature over a range of keys by one of them.
expiry = datetime.now(timezone.utc) + timedelta(hours=1)
table.set_table_access_policy({'readers': TableAccessPolicy(expiry=expiry, permission='r')})
assert table.get_table_access_policy()['readers'].permission == 'r'
credential = AzureNamedKeyCredential(os.environ['ACCOUNT'], os.environ['KEY'])
sas = generate_table_sas(credential, 'Snakes', policy_id='readers',
                         start_pk='t', start_rk='010', end_pk='t', end_rk='019')
reader = TableClient(os.environ['ENDPOINT'], 'Snakes', credential=AzureSasCredential(sas), retry_total=0)
assert [e['n'] for e in reader.list_entities()] == list(range(10, 20))
refused(HttpResponseError, 'AuthorizationPermissionMismatch', reader.create_entity, {'PartitionKey': 't', 'RowKey': '015x'})

# Service properties.
properties = service.get_service_properties()
assert properties['cors'] == [] and properties['analytics_logging'].read is False, properties

# Deletes.
table.delete_entity(entity)
refused(ResourceNotFoundError, 'ResourceNotFound', table.get_entity, entity['PartitionKey'], entity['RowKey'])
for name in ('Snakes', 'SnakesA', 'SnakesB', 'SnakesC'):
    service.delete_table(name)
refused(ResourceNotFoundError, 'TableNotFound', table.get_entity, 't', '000')
assert list(service.list_tables()) == []
`;

tellPythonStory('the Python library for tables', {
  skip: missingTool('pythonTables'),
  story: 'entities, conditions, transactions, queries and policies work',
  script: SCRIPT,
  endpoint: (server, account) => server.tableEndpoint(account),
});
