/** Decide: what readers may see of a BlogPost at an instant. Pure: the time comes in, nothing goes out. */
import { controllerRef, isControlledBy, type NewCondition, parseTime, setCondition } from '@atwatch/runtime';
import type { ConfigMap } from '@atwatch/runtime/types/core';
import { type BlogPost, type BlogPostStatus, blogPosts } from './types.generated.ts';

export interface Decision {
  /** The page to write. */
  readonly page?: ConfigMap;
  /** Whether the page is to be taken back. */
  readonly withdraw: boolean;
  readonly status: BlogPostStatus;
  /** When to look again, epoch milliseconds. */
  readonly requeueAt?: number;
}

/** @param now epoch milliseconds. */
export function decide(post: BlogPost, found: ConfigMap | undefined, now: number): Decision {
  const { title, content, publishedAt } = post.spec;
  const { name, namespace = '', uid = '' } = post.metadata;
  const due = publishedAt === undefined ? Number.POSITIVE_INFINITY : parseTime(publishedAt);
  const phase = due <= now ? 'Published' : due === Number.POSITIVE_INFINITY ? 'Draft' : 'Scheduled';
  const status = (ready: Omit<NewCondition, 'type'>): BlogPostStatus => ({
    phase,
    conditions: setCondition(post.status?.conditions, { type: 'Ready', ...ready }, now),
  });
  if (found !== undefined && !isControlledBy(found, uid)) {
    const message = `ConfigMap ${name} is not of this object`;
    return { withdraw: false, status: status({ status: 'False', reason: 'NameTaken', message }) };
  }
  const ready = status({ status: 'True', reason: phase, message: '' });
  if (phase !== 'Published') {
    const requeueAt = phase === 'Scheduled' ? { requeueAt: due } : {};
    return { withdraw: found !== undefined, status: ready, ...requeueAt };
  }
  const isCurrent = found?.data?.title === title && found.data.content === content;
  if (isCurrent) return { withdraw: false, status: ready };
  const metadata = { name, namespace, ownerReferences: [controllerRef(blogPosts, post)] };
  return { page: { metadata, data: { title, content } }, withdraw: false, status: ready };
}
