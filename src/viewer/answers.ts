import type { components } from './answer-types.js';

/** The documents of the API by name, such as `Item`. */
export type Documents = components['schemas'];
type Answers = Documents['Answers'];

/** The response of a route: `Answer<'GET item/{id}'>`. */
export type Answer<R extends keyof Answers> = Answers[R];

/** All paths of a route with parameters, as a type: `item/${string}` for `item/{id}`. */
type PathsOf<P extends string> = P extends `${infer Start}{${string}}${infer End}` ? `${Start}${string}${PathsOf<End>}` : P;

/** The route that a request goes to. Both directions are compared, because `item/${string}` also matches `item/${string}/tiles`. */
type RouteOf<M extends string, P extends string> = P extends unknown
  ? {
      [R in keyof Answers]: R extends `${M} ${infer Path}` ? ([P, PathsOf<Path>] extends [PathsOf<Path>, P] ? R : never) : never;
    }[keyof Answers]
  : never;

/** The response to a request, as the server describes it; `unknown` if its path is not known when the page is compiled. */
export type AnswerTo<M extends string, P extends string> = [RouteOf<M, P>] extends [never] ? unknown : Answers[RouteOf<M, P>];
