/** The server in `host-adapter.ts` behind a proxy, with the usual middlewares in an order that works. */
import compression from 'compression';
import express from 'express';
import helmet from 'helmet';
import { install, type Installation } from 'express-large-image';
import { answerUnknownPaths } from 'express-large-image/host';
import { specimenHost, type SpecimenServer } from './host-adapter.js';

export async function serveSpecimens(server: SpecimenServer): Promise<Installation> {
  const { app, Badges } = server;
  // There is one proxy in front of the server: client addresses, the protocol and the host name are taken from its headers.
  app.set('trust proxy', 1);
  // Before the plugin: middlewares that change responses. Pictures come with nosniff and a policy of their own; events are sent without delay.
  app.use(helmet());
  app.use(compression());
  // A sign-in sets the cookie of `auth.cookieName`, which <img> and viewers send by themselves.
  app.post('/sign-in', express.json(), async (request, response) => {
    const { secret } = request.body as { secret?: unknown };
    const badge = typeof secret === 'string' ? await Badges.findOne({ secret }) : null;
    if (badge === null) return void response.status(401).json({ message: 'Unknown badge.' });
    response.cookie('badge', secret, { httpOnly: true, sameSite: 'lax', secure: request.secure, path: '/' });
    response.json({ person: badge.person });
  });
  const installation = await install(specimenHost(server));
  // After the plugin: middlewares that read bodies, and your own routes. The plugin reads its bodies itself, uploads as streams.
  app.use(express.json());
  app.post('/echo', (request, response) => void response.json(request.body));
  // Last: the response for unknown paths.
  app.use('/specimens/api', answerUnknownPaths(installation.routes));
  return installation;
}
