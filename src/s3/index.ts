export { s3Files, type FileObject, type S3FileRecords, type S3FilesOptions } from './files.js';
export { Bucket, type ListedObject, type NewObject, type ObjectState } from './bucket.js';
export { ReplacedObjectError, asLargeImageError, reasonOf } from './errors.js';
