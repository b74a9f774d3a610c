import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { redact, redactStatus } from '../../../src/runtime/client/redact.ts';
import { fc } from '../../fixtures/property.ts';

describe('redact', () => {
  const rows = [
    {
      message: 'ConfigMap "x" is invalid: metadata.uid: Invalid value: "s3cret": field is immutable',
      is: 'ConfigMap "x" is invalid: metadata.uid: Invalid value: field is immutable',
    },
    {
      message:
        'patch: Invalid value: "{\\"data\\":{\\"a\\":\\"s3cret: x\\"}}": json: cannot unmarshal number',
      is: 'patch: Invalid value: json: cannot unmarshal number',
    },
    {
      message:
        'spec: Invalid value: {"command":["s3cret","}]\\""]}: no [spec.a: Invalid value: 17: too big, spec.b: Invalid value: null: x]',
      is: 'spec: Invalid value: no [spec.a: Invalid value: too big, spec.b: Invalid value: x]',
    },
    {
      message: 'spec.policy: Unsupported value: "s3cret": supported values: "A", "B"',
      is: 'spec.policy: Unsupported value: supported values: "A", "B"',
    },
    {
      message: 'metadata.name: Required value: name or generateName is required',
      is: 'metadata.name: Required value: name or generateName is required',
    },
    {
      message: 'Pod "x" is invalid: spec.containers[0].volumeMounts[0].name: Not found: "s3cret"',
      is: 'Pod "x" is invalid: spec.containers[0].volumeMounts[0].name: Not found: ',
    },
    {
      message: '[spec.a: Duplicate value: s3cret, spec.b: Too many: 7: must have at most 3 items]',
      is: '[spec.a: Duplicate value: , spec.b: Too many: 7: must have at most 3 items]',
    },
    {
      message:
        'spec.a: Invalid value: core.Container{Name:"x", Env:[]core.EnvVar{core.EnvVar{Value:"s3cret: }"}}}: no',
      is: 'spec.a: Invalid value: no',
    },
    {
      message:
        'spec.a: Invalid value: map[string]string{"a":"s3cret"}: no, spec.b: Invalid value: []string{"s3cret"}: no',
      is: 'spec.a: Invalid value: no, spec.b: Invalid value: no',
    },
    {
      message: 'Pod "x" is invalid: spec: Forbidden: pod updates may not change fields\n- Value: "s3cret"',
      is: 'Pod "x" is invalid: spec: Forbidden: pod updates may not change fields',
    },
    {
      message:
        "quantities must match the regular expression 'x', error found in #10 byte of ...|s3cret\"}|..., bigger context ...|s3cret|...",
      is: "quantities must match the regular expression 'x'",
    },
    {
      message: 'json: cannot unmarshal number 53.7 into Go struct field EnvVar.value of type string',
      is: 'json: cannot unmarshal number into Go struct field EnvVar.value of type string',
    },
    {
      message: 'admission webhook "x" denied the request:\n\nPod/x was blocked',
      is: 'admission webhook "x" denied the request:\n\nPod/x was blocked',
    },
    { message: 'spec.a: Invalid value: must be y', is: 'spec.a: Invalid value: must be y' },
    { message: 'configmaps "x" not found', is: 'configmaps "x" not found' },
    { message: 'a: Invalid value: "cut off', is: 'a: Invalid value: ' },
  ];
  for (const { message, is } of rows) test(message, () => assert.equal(redact(message), is));

  test('no quoted value survives, whatever is in it', () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.constantFrom('{', '[', '"', '\\', ': ')), (before, junk) => {
        const value = JSON.stringify(`${before}${junk.join('')}s3cret`);
        assert.equal(redact(`x: Invalid value: ${value}: must not`), 'x: Invalid value: must not');
        assert.equal(redact(`x: Invalid value: {"a":[${value}]}: must not`), 'x: Invalid value: must not');
      }),
    );
  });
});

test('a Status is redacted in its causes too', () => {
  const message = 'Invalid value: "s3cret": no';
  const status = redactStatus({ message, details: { name: 'x', causes: [{ message, field: 'spec' }] } });
  assert.deepEqual(status, {
    message: 'Invalid value: no',
    details: { name: 'x', causes: [{ message: 'Invalid value: no', field: 'spec' }] },
  });
});
