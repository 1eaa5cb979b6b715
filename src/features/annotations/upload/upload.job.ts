import type { UploadTask } from './upload.model.js';
import { uploadJobName, type AnnotationUploads } from './uploads.js';
import { mayRetry } from '../../jobs/job-record.js';
import type { JobDefinition } from '../../jobs/running/definition.js';

/** The job that reads an uploaded file of annotations. After a crash, it is started again and creates the annotations that are missing. */
export function annotationUploadJob(uploads: AnnotationUploads): JobDefinition<UploadTask> {
  return {
    name: uploadJobName,
    title: 'Create annotations from an uploaded file.',
    type: uploadJobName,
    resumable: true,
    concurrency: 2,
    // Only this plugin creates such jobs.
    parse: (kwargs) => kwargs as unknown as UploadTask,
    async run({ job, log, setResults, signal }, task) {
      const isLastTry = job.run === null || !mayRetry(job.run);
      await uploads.ingest(task, { jobId: job.id, log, setResults, signal, isLastTry });
    },
  };
}
