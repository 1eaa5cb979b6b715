/** The server in `host-adapter.ts` behind a proxy, with the usual middlewares in an order that works. */
import compression from 'compression';
import express from 'express';
import helmet from 'helmet';
import { install, type Installation } from 'express-large-image';
import { answerUnknownPaths } from 'express-large-image/host';
import { specimenHost, type SpecimenServer } from './host-adapter.js';

export async function serveSpecimens(server: SpecimenServer): Promise<Installation> {
  const { app, Badges } = server;
  // There is one proxy in front of the server. Client addresses, the protocol and the host name are taken from the proxy's headers.
  app.set('trust proxy', 1);
  // Middlewares that change responses come before the plugin. The plugin adds `nosniff` and a policy to its pictures, and sends events
  // without delay.
  app.use(helmet());
  app.use(compression());
  // Signing in sets the cookie named in `auth.cookieName`. Browsers also send it for <img> and for viewers.
  app.post('/sign-in', express.json(), async (request, response) => {
    const { secret } = request.body as { secret?: unknown };
    const badge = typeof secret === 'string' ? await Badges.findOne({ secret }) : null;
    if (badge === null) return void response.status(401).json({ message: 'Unknown badge.' });
    response.cookie('badge', secret, { httpOnly: true, sameSite: 'lax', secure: request.secure, path: '/' });
    response.json({ person: badge.person });
  });
  const installation = await install(specimenHost(server));
  // Middlewares that read bodies, and your own routes, come after the plugin, because the plugin reads the bodies of its requests itself.
  app.use(express.json());
  app.post('/echo', (request, response) => void response.json(request.body));
  // The response for unknown paths comes last.
  app.use('/specimens/api', answerUnknownPaths(installation.routes));
  return installation;
}
