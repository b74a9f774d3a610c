{{/* What the operator may do: config/'s rules, and those of the parts that are switched on. */}}
{{- define "atwatch.rules" -}}
{{ (.Files.Get "files/rbac/role.yaml" | fromYaml).rules | toYaml }}
{{- if .Values.rolloutRestart }}
- apiGroups: [apps]
  resources: [deployments, statefulsets, daemonsets]
  verbs: [patch]
{{- end }}
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
{{- end }}
{{- end }}
