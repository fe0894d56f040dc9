{{/* Names and labels. A name that is too long is refused: cut, two of them could become one. */}}

{{- define "berth.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name -}}
{{- end -}}
{{- end -}}

{{- define "berth.operator.name" -}}
{{- if .Values.compat.names }}cortex-nova-scheduling-controller-manager{{ else }}{{ include "berth.fullname" . }}{{ end -}}
{{- end -}}

{{- define "berth.operator.service" -}}
{{- if .Values.compat.names }}cortex-nova-scheduler{{ else }}{{ include "berth.fullname" . }}{{ end -}}
{{- end -}}

{{- define "berth.operator.metricsService" -}}
{{- if .Values.compat.names }}cortex-nova-metrics{{ else }}{{ include "berth.fullname" . }}-metrics{{ end -}}
{{- end -}}

{{- define "berth.operator.account" -}}
{{- .Values.operator.serviceAccount.name | default (include "berth.operator.name" .) -}}
{{- end -}}

{{- define "berth.operator.tokenSecret" -}}
{{- .Values.operator.token.existingSecret | default (printf "%s-token" (include "berth.operator.name" .)) -}}
{{- end -}}

{{- define "berth.placement.name" -}}
{{- if .Values.compat.names }}cortex-placement-shim{{ else }}{{ include "berth.fullname" . }}-placement{{ end -}}
{{- end -}}

{{- define "berth.placement.service" -}}
{{- if .Values.compat.names }}cortex-placement-shim-service{{ else }}{{ include "berth.fullname" . }}-placement{{ end -}}
{{- end -}}

{{- define "berth.placement.metricsService" -}}
{{- if .Values.compat.names }}cortex-placement-shim-metrics-service{{ else }}{{ include "berth.fullname" . }}-placement-metrics{{ end -}}
{{- end -}}

{{- define "berth.placement.account" -}}
{{- .Values.placement.serviceAccount.name | default (include "berth.placement.name" .) -}}
{{- end -}}

{{- define "berth.placement.claim" -}}
{{- .Values.placement.database.sqlite.existingClaim | default (printf "%s-ledger" (include "berth.placement.name" .)) -}}
{{- end -}}

{{/* The Lease that replicas compete for. */}}
{{- define "berth.lease" -}}
{{- .Values.config.leaderElectionID | default (ternary "cortex-nova-scheduling" "berth" .Values.compat.names) -}}
{{- end -}}

{{- define "berth.priorityClass" -}}
{{- if .Values.priorityClass.create }}{{ .Values.priorityClass.name | default (include "berth.fullname" .) }}{{ else }}{{ .Values.priorityClass.name }}{{ end -}}
{{- end -}}

{{/* Labels of every object; the argument has `root` and `component`. */}}
{{- define "berth.labels" -}}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: berth
{{ include "berth.selector" . }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels that select the pods of a component. */}}
{{- define "berth.selector" -}}
app.kubernetes.io/name: {{ .root.Values.nameOverride | default .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "berth.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end -}}
