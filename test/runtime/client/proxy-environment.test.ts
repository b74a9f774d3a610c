import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { proxyFor } from '../../../src/runtime/client/proxy-environment.ts';

const proxy = 'http://proxy:3128';

describe('which proxy', () => {
  const rows: readonly (readonly [server: string, env: Record<string, string>, is: string | undefined])[] = [
    ['https://api:6443', {}, undefined],
    ['https://api:6443', { HTTPS_PROXY: proxy }, proxy],
    ['https://api:6443', { https_proxy: proxy }, proxy],
    ['https://api:6443', { HTTPS_PROXY: '', https_proxy: proxy }, proxy],
    ['https://api:6443', { HTTPS_PROXY: proxy, https_proxy: 'http://other' }, proxy],
    ['https://api:6443', { HTTPS_PROXY: 'proxy:3128' }, proxy],
    ['https://api:6443', { HTTPS_PROXY: 'https://user:secret@proxy' }, 'https://user:secret@proxy'],
    ['https://api:6443', { HTTP_PROXY: proxy, ALL_PROXY: proxy }, undefined],
    ['http://api:6443', { HTTP_PROXY: proxy, HTTPS_PROXY: 'http://other' }, proxy],
    ['http://api:6443', { HTTPS_PROXY: proxy }, undefined],
    ['nonsense', { HTTPS_PROXY: proxy }, undefined],
  ];
  for (const [server, env, is] of rows) {
    test(`${JSON.stringify(env)} for ${server}: ${is}`, () => assert.equal(proxyFor(server, env), is));
  }
});

describe('NO_PROXY', () => {
  /** As in Go's tests of `useProxy`, in the main. */
  const rows: readonly (readonly [server: string, noProxy: string, direct: boolean])[] = [
    ['https://localhost:6443', '', true],
    ['https://127.0.0.1', '', true],
    ['https://127.8.9.10', '', true],
    ['https://[::1]:6443', '', true],
    ['https://192.168.1.1', '', false],
    ['https://api.example.com', '*', true],
    ['https://api.example.com', 'other, *', true],
    ['https://api.example.com', 'api.example.com', true],
    ['https://API.example.com', 'Api.Example.Com', true],
    ['https://api.example.com', 'example.com', true],
    ['https://api.example.com', '.example.com', true],
    ['https://api.example.com', '*.example.com', true],
    ['https://example.com', 'example.com', true],
    ['https://example.com', '.example.com', false],
    ['https://example.com', '*.example.com', false],
    ['https://badexample.com', 'example.com', false],
    ['https://api.example.com', ' a.example.com ,, example.com ', true],
    ['https://api.example.com:6443', 'example.com:6443', true],
    ['https://api.example.com', 'example.com:443', true],
    ['https://api.example.com:6443', 'example.com:443', false],
    ['https://api.example.com', ':443', false],
    ['https://10.1.2.3', '10.0.0.0/8', true],
    ['https://11.1.2.3', '10.0.0.0/8', false],
    ['https://10.1.2.3', '10.1.2.3', true],
    ['https://10.1.2.3:6443', '10.1.2.3:6443', true],
    ['https://10.1.2.3:6443', '10.1.2.3:443', false],
    ['https://10.1.2.3', '10.0.0.0/99', false],
    ['https://10.1.2.3', '10.0.0.0/', false],
    ['https://10.1.2.3', '2.3', false],
    ['https://[fd00::1]:6443', 'fd00::/8', true],
    ['https://[fd00::1]:6443', 'fd00::1', true],
    ['https://[fd00::1]:6443', '[fd00:0::1]:6443', true],
    ['https://[fd00::1]:6443', '[fd00::1]:443', false],
    ['https://[fd00::1]', '10.0.0.0/8', false],
    ['https://api.example.com', '10.0.0.0/8', false],
  ];
  for (const [server, NO_PROXY, direct] of rows) {
    test(`${NO_PROXY || 'empty'}: ${server} is reached ${direct ? 'directly' : 'through the proxy'}`, () => {
      assert.equal(proxyFor(server, { HTTPS_PROXY: proxy, NO_PROXY }), direct ? undefined : proxy);
      assert.equal(proxyFor(server, { HTTPS_PROXY: proxy, no_proxy: NO_PROXY }), direct ? undefined : proxy);
    });
  }
});
