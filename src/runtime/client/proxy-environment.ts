/**
 * Proxy environment: through which proxy a server is reached, as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say. The rules
 * are those of Go's `http.ProxyFromEnvironment`, so that kubectl and this program take the same way.
 */
import { BlockList, isIP } from 'node:net';

type Environment = Readonly<Record<string, string | undefined>>;

/** URL of the proxy, as it is in the environment; undefined when the server is reached directly. */
export function proxyFor(server: string, env: Environment): string | undefined {
  if (!URL.canParse(server)) return undefined;
  const { protocol, hostname, port } = new URL(server);
  const proxy = protocol === 'https:' ? either(env, 'HTTPS_PROXY') : either(env, 'HTTP_PROXY');
  if (proxy === '') return undefined;
  const host = withoutBrackets(hostname).toLowerCase();
  const target = { host, port: port || (protocol === 'https:' ? '443' : '80') };
  if (
    isLoopback(host) ||
    either(env, 'NO_PROXY')
      .split(',')
      .some((rule) => matches(rule, target))
  )
    return undefined;
  // Written without a scheme it is an HTTP proxy.
  return proxy.includes('://') ? proxy : `http://${proxy}`;
}

/** The variable in capitals, or else in small letters. */
function either(env: Environment, name: string): string {
  return env[name] || env[name.toLowerCase()] || '';
}

interface Target {
  readonly host: string;
  readonly port: string;
}

/** A rule is `*`, an address, a CIDR block, a domain, `.domain` or `*.domain`, each but the block with or without a port. */
function matches(rule: string, { host, port }: Target): boolean {
  const text = rule.trim().toLowerCase();
  if (text === '') return false;
  if (text === '*') return true;
  if (text.includes('/')) return isInBlock(host, text);
  const wanted = hostAndPort(text);
  if (wanted.host === '' || (wanted.port !== '' && wanted.port !== port)) return false;
  const version = isIP(wanted.host);
  if (version !== 0) return isInBlock(host, `${wanted.host}/${version === 4 ? 32 : 128}`);
  // `2.3` is no domain of 10.1.2.3.
  if (isIP(host) !== 0) return false;
  const domain = wanted.host.startsWith('*.') ? wanted.host.slice(1) : wanted.host;
  if (domain.startsWith('.')) return host.endsWith(domain);
  return host === domain || host.endsWith(`.${domain}`);
}

/** Of `host`, `host:port`, `[address]:port` and an address. */
function hostAndPort(text: string): Target {
  const host = withoutBrackets(text);
  if (isIP(host) !== 0) return { host, port: '' };
  const colon = text.lastIndexOf(':');
  return colon === -1
    ? { host: text, port: '' }
    : { host: withoutBrackets(text.slice(0, colon)), port: text.slice(colon + 1) };
}

function isInBlock(host: string, block: string): boolean {
  const [network = '', bits = ''] = block.split('/');
  const version = isIP(host);
  const prefix = Number(bits);
  if (
    version === 0 ||
    isIP(network) !== version ||
    !/^\d+$/.test(bits) ||
    prefix > (version === 4 ? 32 : 128)
  ) {
    return false;
  }
  const list = new BlockList();
  const family = version === 4 ? 'ipv4' : 'ipv6';
  list.addSubnet(network, prefix, family);
  return list.check(host, family);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || isInBlock(host, '127.0.0.0/8') || isInBlock(host, '::1/128');
}

function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
