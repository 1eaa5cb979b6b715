/** The program of `npm start`. */
import { serve } from './serve.js';

await serve(process.argv.slice(2), 'npm start --');
