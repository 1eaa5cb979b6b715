/**
 * A server that is structured differently from the reference host. Cabinets contain specimens, and specimens contain blobs. Owners are texts,
 * and rights are roles. `specimenHost` below is all that `install` needs.
 */
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { MongoBackend } from '@agendajs/mongo-backend';
import { Agenda } from 'agenda';
import express from 'express';
import { Mongoose } from 'mongoose';
import type { AccessLevel, Caller, Host, StoredDocument } from 'express-large-image';

interface Cabinet {
  owner: string;
  open: boolean;
  roles: Map<string, 'viewer' | 'editor'>;
}

/** Connects the server's own models. */
export async function openSpecimenServer(uri: string) {
  const mongoose = new Mongoose();
  await mongoose.connect(uri, { autoIndex: false });
  const { Schema } = mongoose;
  const Cabinets = mongoose.model(
    'Cabinet',
    new Schema({ title: String, owner: String, open: Boolean, roles: { type: Map, of: String, default: {} } }),
  );
  const Specimens = mongoose.model(
    'Specimen',
    new Schema({
      title: String,
      cabinet: Schema.Types.ObjectId,
      changedAt: { type: Date, default: Date.now },
      properties: Object,
    }),
  );
  const Blobs = mongoose.model(
    'Blob',
    new Schema({ label: String, specimen: Schema.Types.ObjectId, kind: String, bytes: Number, storedAs: String }),
  );
  const Badges = mongoose.model('Badge', new Schema({ secret: String, person: String }));
  const folder = await mkdtemp(join(tmpdir(), 'specimens-'));
  // The types differ if Mongoose and Agenda each have their own version of the MongoDB driver.
  const agenda = new Agenda({ backend: new MongoBackend({ mongo: mongoose.connection.db as never }) });
  // Agenda creates its index. Closing the connection before the index exists would cause an unhandled rejection.
  await agenda.ready;
  return { mongoose, Cabinets, Specimens, Blobs, Badges, folder, agenda, app: express() };
}

export type SpecimenServer = Awaited<ReturnType<typeof openSpecimenServer>>;

/** The adapter: this server as a `Host`. */
export function specimenHost(server: SpecimenServer): Host {
  const { mongoose, Cabinets, Specimens, Blobs, Badges, folder, agenda, app } = server;
  const pathOf = (file: StoredDocument) => join(folder, String(file.storedAs));
  const levelIn = (cabinet: Cabinet, caller: Caller | null): AccessLevel => {
    if (caller?.admin === true || (caller?.id != null && caller.id === cabinet.owner)) return 2;
    const role = caller?.id == null ? undefined : cabinet.roles.get(caller.id);
    return role === 'editor' ? 1 : role === 'viewer' || cabinet.open ? 0 : -1;
  };
  return {
    app,
    apiRoot: '/specimens/api',
    mongoose,
    agenda,
    models: { item: Specimens, file: Blobs, folder: Cabinets },
    fields: {
      item: { name: 'title', folderId: 'cabinet', updated: 'changedAt', created: 'changedAt', meta: 'properties' },
      file: { name: 'label', itemId: 'specimen', mimeType: 'kind', size: 'bytes' },
      folder: { name: 'title' },
    },
    auth: {
      cookieName: 'badge',
      async verify(token) {
        const badge = await Badges.findOne({ secret: token });
        return badge === null
          ? null
          : { id: badge.person ?? null, admin: badge.person === 'curator', scopes: ['core.user_auth'] };
      },
    },
    access: {
      async level(caller, { type, doc }) {
        const cabinet = await Cabinets.findById(type === 'item' ? doc.cabinet : doc._id);
        return cabinet === null ? -1 : levelIn(cabinet as unknown as Cabinet, caller);
      },
      async filter(caller, type, level) {
        if (caller?.admin === true) return {};
        const conditions: object[] = level === 0 ? [{ open: true }] : [];
        if (caller?.id != null) {
          conditions.push({ owner: caller.id });
          if (level <= 1) conditions.push({ [`roles.${caller.id}`]: level === 0 ? { $in: ['viewer', 'editor'] } : 'editor' });
        }
        const cabinets = conditions.length === 0 ? [] : await Cabinets.find({ $or: conditions }, { _id: 1 }).lean();
        const ids = cabinets.map(({ _id }) => _id);
        return type === 'folder' ? { _id: { $in: ids } } : { cabinet: { $in: ids } };
      },
      async list(doc) {
        const { owner, open, roles } = (await Cabinets.findById(doc._id)) as unknown as Cabinet;
        const otherUsers = [...roles].map(([id, role]) => ({ id, level: role === 'editor' ? (1 as const) : (0 as const) }));
        return { users: [{ id: owner, level: 2 }, ...otherUsers], groups: [], public: open };
      },
    },
    files: {
      localPath: async (file) => pathOf(file),
      read: async (file, { start, end }) => createReadStream(pathOf(file), { start, end: end - 1 }),
      async create(file, content, options) {
        const storedAs = randomBytes(12).toString('hex');
        const path = join(folder, storedAs);
        try {
          const handle = await open(path, 'wx');
          await pipeline(content, handle.createWriteStream(), { ...options });
          const { size } = await stat(path);
          if (size !== file.size) throw new Error(`${file.name} should have ${file.size} bytes and has ${size}.`);
          const owner = file.parent.type === 'item' ? { specimen: file.parent.itemId } : {};
          const blob = new Blobs({ label: file.name, kind: file.mimeType, bytes: size, storedAs, ...owner, ...file.fields });
          await blob.save();
          return blob.toObject() as StoredDocument;
        } catch (error) {
          await rm(path, { force: true });
          throw error;
        }
      },
      async remove(file) {
        await Blobs.findByIdAndDelete(file._id);
        await rm(pathOf(file), { force: true });
      },
    },
  };
}

/** Closes the server and removes its files. */
export async function closeSpecimenServer({ mongoose, folder }: SpecimenServer): Promise<void> {
  await mongoose.disconnect();
  await rm(folder, { recursive: true, force: true });
}
