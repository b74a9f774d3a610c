/**
 * The registry as a program of its own. Its arguments: the folder of the images and a port of loopback.
 */
import { createServer } from 'node:http';
import { ImageStore } from './images.ts';
import { answer } from './registry.ts';

const [, , directory = '', port = ''] = process.argv;
const store = new ImageStore(directory);
createServer((request, response) => answer(store, request, response)).listen(Number(port), '127.0.0.1');
