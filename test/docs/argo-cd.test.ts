/** The health check that docs/cookbook.md gives to Argo CD, run as Argo CD runs it: by an interpreter of Lua. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { lauxlib, lua, lualib, to_jsstring, to_luastring } from 'fengari';
import { parse } from 'yaml';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import { type Judgement, judged } from '../at/judged.ts';

/** What is applied to the ConfigMap argocd-cm. */
function customizations(): Readonly<Record<string, string>> {
  const text = readFileSync('docs/cookbook.md', 'utf8');
  const blocks = [...text.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, block = '']) => block);
  const block = blocks.find((one) => one.includes('resource.customizations.health'));
  return parse(block ?? '').data;
}

function pushValue(state: object, value: unknown): void {
  if (typeof value === 'string') lua.lua_pushstring(state, to_luastring(value));
  else if (typeof value === 'number') lua.lua_pushnumber(state, value);
  else if (typeof value === 'boolean') lua.lua_pushboolean(state, value);
  else if (typeof value === 'object' && value !== null) {
    lua.lua_newtable(state);
    for (const [key, entry] of Object.entries(value)) {
      // Lua counts from 1.
      pushValue(state, Array.isArray(value) ? Number(key) + 1 : key);
      pushValue(state, entry);
      lua.lua_settable(state, -3);
    }
  } else lua.lua_pushnil(state);
}

function fieldOf(state: object, name: string): string | undefined {
  lua.lua_getfield(state, -1, to_luastring(name));
  const text = lua.lua_tostring(state, -1);
  lua.lua_pop(state, 1);
  return text ? to_jsstring(text) : undefined;
}

/** What the script returns for an object, which it has in the global `obj`. */
function healthOf(script: string, object: KubernetesObject): { status?: string; message?: string } {
  const state = lauxlib.luaL_newstate();
  lualib.luaL_openlibs(state);
  pushValue(state, JSON.parse(JSON.stringify(object)));
  lua.lua_setglobal(state, to_luastring('obj'));
  const code = lauxlib.luaL_dostring(state, to_luastring(script));
  assert.equal(
    code,
    lua.LUA_OK,
    code === lua.LUA_OK ? '' : to_jsstring(lua.lua_tostring(state, -1) ?? new Uint8Array()),
  );
  const [status, message] = [fieldOf(state, 'status'), fieldOf(state, 'message')];
  return { ...(status && { status }), ...(message && { message }) };
}

const healthy: Readonly<Record<Judgement, string | undefined>> = {
  Current: 'Healthy',
  InProgress: 'Progressing',
  Failed: 'Degraded',
  // Argo CD asks no script about an object that is on its way out.
  Terminating: undefined,
};

const ofAt = customizations()['resource.customizations.health.cnat.programming-kubernetes.info_At'] ?? '';

describe("Argo CD's health check", () => {
  it('is the same for both kinds', () => {
    const names = Object.keys(customizations());
    assert.deepEqual(names, [
      'resource.customizations.health.cnat.programming-kubernetes.info_At',
      'resource.customizations.health.k8spatterns.io_ConfigWatcher',
    ]);
    assert.equal(new Set(Object.values(customizations())).size, 1);
  });

  for (const { name, at, is } of judged.filter((row) => healthy[row.is] !== undefined)) {
    it(`takes an At ${name} for ${healthy[is]}`, () => assert.equal(healthOf(ofAt, at).status, healthy[is]));
  }

  it('takes what the operator has not seen for Progressing', () => {
    const metadata = { name: 'web', generation: 2 };
    assert.equal(healthOf(ofAt, { metadata }).status, 'Progressing');
    const status = { observedGeneration: 1, conditions: [{ type: 'Ready', status: 'True', message: 'old' }] };
    const stale: KubernetesObject & { status: object } = { metadata, status };
    assert.equal(healthOf(ofAt, stale).status, 'Progressing');
  });

  it('gives the message of the condition that it goes by', () => {
    const conditions = [
      { type: 'Stalled', status: 'True', message: 'new Pods are not available' },
      { type: 'Ready', status: 'False', message: 'in progress' },
    ];
    const object = {
      metadata: { name: 'web', generation: 1 },
      status: { observedGeneration: 1, conditions },
    };
    assert.deepEqual(healthOf(ofAt, object), { status: 'Degraded', message: 'new Pods are not available' });
    const reversed = { ...object, status: { ...object.status, conditions: conditions.toReversed() } };
    assert.deepEqual(healthOf(ofAt, reversed), { status: 'Degraded', message: 'new Pods are not available' });
  });
});
