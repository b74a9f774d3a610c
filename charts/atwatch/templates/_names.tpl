{{- define "atwatch.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* What the name of each object begins with. Short enough for the longest name that must fit into 63 characters. */}}
{{- define "atwatch.fullname" -}}
{{- $name := include "atwatch.name" . -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{ .Values.fullnameOverride | default $full | trunc 44 | trimSuffix "-" }}
{{- end }}

{{- define "atwatch.manager" -}}
{{ include "atwatch.fullname" . }}-controller-manager
{{- end }}

{{- define "atwatch.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "atwatch.manager" .) }}
{{- end }}

{{- define "atwatch.labels" -}}
app.kubernetes.io/name: atwatch
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Never changes in the life of a release: the selector of a Deployment is immutable. */}}
{{- define "atwatch.selectorLabels" -}}
app.kubernetes.io/name: atwatch
app.kubernetes.io/instance: {{ .Release.Name | quote }}
role: operator
{{- end }}

{{- define "atwatch.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end }}
{{- end }}
{{- end }}

{{/* Of a file in files/, one object: what Helm needs is added to its metadata. */}}
{{- define "atwatch.labelled" -}}
{{- $labels := include "atwatch.labels" .root | fromYaml -}}
{{- $_ := set .object.metadata "labels" (merge (.object.metadata.labels | default dict) $labels) -}}
{{ toYaml .object }}
{{- end }}
