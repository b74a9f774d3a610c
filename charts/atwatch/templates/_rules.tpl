{{/* What the operator may do: config/'s rules, and those of the parts that are switched on. */}}
{{- define "atwatch.rules" -}}
{{ (.Files.Get "files/rbac/role.yaml" | fromYaml).rules | toYaml }}
{{- if .Values.secretAccess }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, watch]
{{- end }}
{{- if .Values.annotationController }}
- apiGroups: [""]
  resources: [configmaps]
  verbs: [patch]
{{- end }}
{{- if or .Values.annotatedWorkloads .Values.reloaderAnnotations }}
- apiGroups: [apps]
  resources: [deployments, statefulsets, daemonsets]
  verbs: [list, watch]
- apiGroups: [k8spatterns.io]
  resources: [configwatchers]
  verbs: [create, update, delete]
{{- end }}
{{- if .Values.reloaderAnnotations }}
- apiGroups: [batch]
  resources: [cronjobs, jobs]
  verbs: [list, watch]
- apiGroups: [argoproj.io]
  resources: [rollouts]
  verbs: [list, watch]
{{- end }}
{{- if .Values.authorCheck }}
- apiGroups: [authorization.k8s.io]
  resources: [localsubjectaccessreviews]
  verbs: [create]
{{- end }}
{{- if .Values.secondGroup }}
- apiGroups: [k8spatterns.com]
  resources: [configwatchers]
  verbs: [get, list, watch, patch]
- apiGroups: [k8spatterns.com]
  resources: [configwatchers/status]
  verbs: [update]
{{- if or .Values.annotatedWorkloads .Values.reloaderAnnotations }}
- apiGroups: [k8spatterns.com]
  resources: [configwatchers]
  verbs: [create, update, delete]
{{- end }}
{{- end }}
{{- end }}

{{/* Whose token it is that comes for the metrics, and whether that user may read them. */}}
{{- define "atwatch.reviewRules" -}}
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}

{{/* Of the role by which the policies know the operator: what options need in the whole cluster. */}}
{{- define "atwatch.identityRules" -}}
{{- if .Values.metrics.secure }}
{{ include "atwatch.reviewRules" . }}
{{- end }}
{{- if .Values.authorCheck }}
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingadmissionpolicies, mutatingadmissionpolicybindings]
  verbs: [list]
{{- end }}
{{- if not (or .Values.metrics.secure .Values.authorCheck) }}
[]
{{- end }}
{{- end }}
