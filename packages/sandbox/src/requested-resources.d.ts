import { type TemplateResources, type TemplateSpec } from '@warmbox/resolution';
/** The machine size a template spec asks for, as far as it can be told without resolving it. */
export declare const requestedResources: (spec: TemplateSpec | undefined) => TemplateResources;
