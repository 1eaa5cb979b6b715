// Asks for pictures in a process of its own, so that its processor time is not taken for the server's.
import { Agent, get } from 'node:http';
import { serveParent } from '../support/children.js';
import { repeat, type Done, type Download } from './measure.js';

async function download(subject: string): Promise<Done | { failed: string }> {
  const { url, connections, headers, paths, seconds } = JSON.parse(subject) as Download;
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const path = paths.pop();
      if (path === undefined) throw new RangeError('Not enough paths');
      const address = url + path;
      get(address, { agent, headers }, (response) => {
        response.resume();
        response.once('error', reject);
        response.once('end', () => {
          if (response.statusCode === 200) resolve();
          else reject(new Error(`${address} answered ${response.statusCode}`));
        });
      }).once('error', reject);
    });
  try {
    return await repeat(connections, one, seconds);
  } catch (error) {
    return { failed: String(error) };
  } finally {
    agent.destroy();
  }
}

await serveParent('', { download }, () => Promise.resolve());
