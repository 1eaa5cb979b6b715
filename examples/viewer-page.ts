import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import express, { type Application } from 'express';

/** The folder of the package with the element and the scripts that it loads. */
const installedScripts = () => dirname(fileURLToPath(import.meta.resolve('express-large-image/viewer')));

const page = (item: string) => `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <title>A slide</title>
  <script type="module" src="/large-image-viewer/element.js"></script>
  <script type="module" src="/slide.js"></script>
  <h1>A slide</h1>
  <large-image-viewer api-root="/api/v1" item="${item}" panels="frames look annotations"></large-image-viewer>
  <p id="place"></p>
</html>`;

const script = `
const viewer = document.querySelector('large-image-viewer');
viewer.addEventListener('view-change', ({ detail }) => {
  document.getElementById('place').textContent = detail.view;
});
viewer.addEventListener('session-end', () => location.assign('/sign-in'));
`;

/** Your own pages with the viewer, under a content security policy that forbids inline scripts and anything from other origins. */
export function addSlidePages(app: Application, scripts = installedScripts()): void {
  app.use('/large-image-viewer', express.static(scripts));
  app.get('/slide.js', (_request, response) => {
    response.type('js').send(script);
  });
  app.get('/slides/:item', (request, response, next) => {
    if (!/^[0-9a-f]{24}$/.test(request.params.item)) return next();
    response.set('Content-Security-Policy', "default-src 'self'").type('html').send(page(request.params.item));
  });
}
