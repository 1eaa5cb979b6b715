import type { Documents } from '../answers.js';
import { requestList, request } from '../api.js';
import { setUnreadCount } from './unread.js';

export type Comment = Documents['Comment'];
export type CommentMark = Documents['CommentMark'];
export type InboxComment = Documents['InboxComment'];
export type CommentPlace = Documents['CommentPlace'];
export type ShownState = 'open' | 'resolved' | 'all';

/** The subject of a new comment. */
export interface CommentTarget {
  place: CommentPlace | null;
  shape: { annotationId: string; elementId: string } | null;
}

/** Number of threads, or of replies, that one request loads. */
export const entriesPerRequest = 20;

const stateQuery = (state: ShownState) => ({ state: state === 'all' ? null : state });

/** A page of the threads on an item, newest first. Each thread is represented by its first comment. */
export function listThreads(itemId: string, state: ShownState, offset: number, signal: AbortSignal, limit = entriesPerRequest) {
  return requestList(`item/${itemId}/comment`, { query: { ...stateQuery(state), offset, limit }, signal });
}

/** The place and the state of each thread on an item. */
export function listMarks(itemId: string, state: ShownState, signal: AbortSignal) {
  return request('GET', `item/${itemId}/comment/places`, { query: stateQuery(state), signal });
}

export function listReplies(threadId: string, offset: number, signal: AbortSignal) {
  return requestList(`comment/${threadId}/reply`, { query: { offset, limit: entriesPerRequest }, signal });
}

/** The first comment of the thread to which a comment belongs. */
export async function loadThread(id: string, signal: AbortSignal): Promise<Comment> {
  const comment = await request('GET', `comment/${id}`, { signal });
  return comment.threadId === null ? comment : request('GET', `comment/${comment.threadId}`, { signal });
}

/** Marks a thread, some comments, or all comments as read or unread by the user, and shows the new number of unread comments. */
export async function setRead(selection: { threadId?: string; ids?: string[] }, isRead = true): Promise<void> {
  setUnreadCount((await request('PUT', 'comment/inbox', { json: { read: isRead, ...selection } })).unread);
}
