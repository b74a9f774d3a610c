import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addedField, isInvalidPod } from '../../../src/at/act/create-answer.ts';
import { redact } from '../../../src/at/act/redact.ts';
import { ApiError } from '../../../src/runtime/client/api-error.ts';
import { accepted, created } from '../../fixtures/at.ts';

type Causes = readonly { readonly field?: string; readonly message?: string }[];

function refusal(message: string, causes: Causes, code = 422, reason = 'Invalid'): ApiError {
  return new ApiError(message, code, { code, reason, message, details: { causes } });
}

const pod = created(accepted({ argv: ['the-secret-word'] }));
const field = { field: 'spec.dnsPolicy', message: 'Unsupported value' };
const sentence = 'Pod "a-pod" is invalid: spec.dnsPolicy: Unsupported value: "Nowhere"';

test('what each cause finds in a field of the Pod makes its template invalid', () => {
  assert.equal(isInvalidPod(refusal(sentence, [field, field]), pod), true);
});

test('a field that the Pod was sent with, or lacks, is its own, and an item that admission has added is not', () => {
  const own = [
    'spec.containers[0].image',
    'spec.containers[0].resources.limits[cpu]',
    'metadata.labels[a.b/2]',
  ];
  const added = ['spec.containers[1].image', 'spec.initContainers[0].name', 'spec.containers[0].env[0].name'];
  const at = (name: string) => refusal(sentence, [{ field: name }]);
  for (const name of own)
    assert.deepEqual([isInvalidPod(at(name), pod), addedField(at(name), pod)], [true, undefined]);
  for (const name of added)
    assert.deepEqual([isInvalidPod(at(name), pod), addedField(at(name), pod)], [false, name]);
});

test('anything else may pass with another try', () => {
  const others = [
    refusal(sentence, []),
    refusal(sentence, [field, {}]),
    refusal(sentence, [field, { field: '' }]),
    refusal(sentence, [field], 403, 'Forbidden'),
    refusal('admission webhook "w.example.com" denied the request: no', [field]),
    refusal("pods \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", [
      field,
    ]),
    refusal("MutatingAdmissionPolicy 'p' failed", [field]),
    new Error(sentence),
  ];
  for (const error of others) assert.equal(isInvalidPod(error, pod), false, error.message);
});

test('also of a sentence from which the words of the command were taken', () => {
  const error = redact(refusal(`${sentence} the-secret-word`, [field]), pod);
  assert.equal(isInvalidPod(error, pod), true);
  assert.doesNotMatch(JSON.stringify(error) + (error as Error).message, /the-secret-word/);
});
