import type { components } from './answer-types.js';

/** Types of the JSON documents in the API, by name, such as `Item`. */
export type Documents = components['schemas'];
type Answers = Documents['Answers'];

/** Type of a route's response, for example `Answer<'GET item/{id}'>`. */
export type Answer<R extends keyof Answers> = Answers[R];

/** The paths that match a route's pattern: `item/${string}` for `item/{id}`. */
type PathsOf<P extends string> = P extends `${infer Start}{${string}}${infer End}` ? `${Start}${string}${PathsOf<End>}` : P;

/**
 * The route that a request with this method and path goes to. Each path type must extend the other, because `item/${string}/tiles` also extends
 * `item/${string}`.
 */
type RouteOf<M extends string, P extends string> = P extends unknown
  ? {
      [R in keyof Answers]: R extends `${M} ${infer Path}` ? ([P, PathsOf<Path>] extends [PathsOf<Path>, P] ? R : never) : never;
    }[keyof Answers]
  : never;

/** Type of the response to a request; `unknown` if the compiler cannot tell which route the path belongs to. */
export type AnswerTo<M extends string, P extends string> = [RouteOf<M, P>] extends [never] ? unknown : Answers[RouteOf<M, P>];
