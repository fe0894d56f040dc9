{{/* What is derived from the configuration: the files, the Secrets that may be read, and where connections go. */}}

{{- define "berth.operator.installed" -}}
{{- if and .Values.operator.enabled (not .Values.remoteCluster.enabled) }}true{{ end -}}
{{- end -}}

{{- define "berth.placement.installed" -}}
{{- if and .Values.placement.enabled (not .Values.remoteCluster.enabled) }}true{{ end -}}
{{- end -}}

{{/* Whether the token of the scheduler API comes from a Secret: not if the configuration has one. */}}
{{- define "berth.operator.mountsToken" -}}
{{- $inConfig := .Values.config.scheduler | default dict -}}
{{- $inSecrets := .Values.secrets.scheduler | default dict -}}
{{- if not (or $inConfig.token $inConfig.tokenFile $inSecrets.token $inSecrets.tokenFile) }}true{{ end -}}
{{- end -}}

{{- define "berth.operator.conf" -}}
{{- $conf := deepCopy .Values.config -}}
{{- if not (hasKey $conf "userAgent") -}}
{{- $_ := set $conf "userAgent" (dict "component" .Release.Name "version" .Chart.AppVersion) -}}
{{- end -}}
{{- $_ := set $conf "leaderElectionID" (include "berth.lease" .) -}}
{{- if include "berth.operator.mountsToken" . -}}
{{- $_ := set $conf "scheduler" (set (deepCopy ($conf.scheduler | default dict)) "tokenFile" "/etc/berth/token/token") -}}
{{- end -}}
{{- if .Values.operator.tls.existingSecret -}}
{{- $_ := set $conf "tls" (include "berth.tls.conf" .Values.operator.tls | fromJson) -}}
{{- end -}}
{{- toPrettyJson $conf -}}
{{- end -}}

{{/* The key `tls` of a configuration; the argument is `tls` of the values. */}}
{{- define "berth.tls.conf" -}}
{{- $files := dict "certFile" "/etc/berth/tls/tls.crt" "keyFile" "/etc/berth/tls/tls.key" "minVersion" .minVersion -}}
{{- if .authority -}}
{{- $_ := set $files "caFile" "/etc/berth/tls/ca.crt" -}}
{{- end -}}
{{- toJson $files -}}
{{- end -}}

{{/* The volume with these files. */}}
{{- define "berth.tls.volume" -}}
{{- $items := list (dict "key" .certificate "path" "tls.crt") (dict "key" .key "path" "tls.key") -}}
{{- if .authority -}}
{{- $items = append $items (dict "key" .authority "path" "ca.crt") -}}
{{- end -}}
{{- toJson (dict "name" "tls" "secret" (dict "secretName" .existingSecret "defaultMode" 288 "items" $items)) -}}
{{- end -}}

{{/* The scheme of a listener; the argument is `tls` of the values. */}}
{{- define "berth.tls.scheme" -}}
{{- ternary "https" "http" (.existingSecret | empty | not) -}}
{{- end -}}

{{- define "berth.operator.secretConf" -}}
{{- omit .Values.secrets "readable" | toPrettyJson -}}
{{- end -}}

{{- define "berth.placement.conf" -}}
{{- $conf := deepCopy .Values.placement.config -}}
{{- if not (hasKey $conf "userAgent") -}}
{{- $_ := set $conf "userAgent" (dict "component" .Release.Name "version" .Chart.AppVersion) -}}
{{- end -}}
{{- if .Values.placement.tls.existingSecret -}}
{{- $_ := set $conf "tls" (include "berth.tls.conf" .Values.placement.tls | fromJson) -}}
{{- end -}}
{{- toPrettyJson $conf -}}
{{- end -}}

{{- define "berth.placement.secretConf" -}}
{{- omit .Values.placement.secrets "readable" | toPrettyJson -}}
{{- end -}}

{{/* Whether a configuration (`config`, `secrets`) has credentials of Keystone. */}}
{{- define "berth.hasKeystone" -}}
{{- $reservations := .config.committedResourceReservationController | default dict -}}
{{- if or .config.keystoneSecretRef .secrets.keystoneSecretRef .config.keystoneURL .secrets.keystoneURL $reservations.keystoneSecretRef }}true{{ end -}}
{{- end -}}

{{/* Whether the ports of OpenStack services are not in a configuration, but in a Secret or in the catalog of Keystone. */}}
{{- define "berth.hasOpenstackPorts" -}}
{{- $reservations := .config.committedResourceReservationController | default dict -}}
{{- $isInSecret := or .config.keystoneSecretRef .secrets.keystoneSecretRef $reservations.keystoneSecretRef -}}
{{- $asksLimes := and (include "berth.hasKeystone" .) (has "commitments-sync-task" (.config.enabledTasks | default list)) -}}
{{- if or $isInSecret $asksLimes }}true{{ end -}}
{{- end -}}

{{/* The Secrets that a component may get: a map from the namespace to the names, as JSON. */}}
{{- define "berth.readableSecrets" -}}
{{- $found := dict -}}
{{- $ofSlots := .config.committedResourceReservationController | default dict -}}
{{- range list .config.keystoneSecretRef .config.ssoSecretRef .secrets.keystoneSecretRef .secrets.ssoSecretRef $ofSlots.keystoneSecretRef $ofSlots.ssoSecretRef -}}
{{- with . -}}
{{- if not (and .name .namespace) -}}
{{- fail (printf "the reference %s to a Secret is incomplete; give name and namespace" (toJson .)) -}}
{{- end -}}
{{- $_ := set $found .namespace (append (get $found .namespace | default list) .name | uniq) -}}
{{- end -}}
{{- end -}}
{{- range .secrets.readable -}}
{{- $_ := set $found .namespace (concat (get $found .namespace | default list) .names | uniq) -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* The ports of the URLs that a configuration names, as a JSON list. */}}
{{- define "berth.configuredPorts" -}}
{{- $ports := list -}}
{{- $slots := .config.committedResourceReservationController | default dict -}}
{{- $urls := list .config.schedulerURL .config.keystoneURL .secrets.keystoneURL $slots.schedulerURL -}}
{{- range (.config.apiservers | default dict).remotes -}}
{{- $urls = append $urls .host -}}
{{- end -}}
{{- range compact $urls -}}
{{- if hasPrefix "http" . -}}
{{- $url := urlParse . -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" -}}
{{- $ports = append $ports ($port | default (ternary "443" "80" (eq $url.scheme "https")) | int) -}}
{{- end -}}
{{- end -}}
{{- toJson $ports -}}
{{- end -}}

{{/* The ports of the API servers: those of the values, and that of this cluster if it can be asked. */}}
{{- define "berth.apiServerPorts" -}}
{{- $ports := .Values.networkPolicy.apiServerPorts -}}
{{- range (lookup "discovery.k8s.io/v1" "EndpointSlice" "default" "kubernetes").ports -}}
{{- $ports = append $ports .port -}}
{{- end -}}
{{- toJson $ports -}}
{{- end -}}

{{/* Whether the pods of Placement need a token of Kubernetes: to read a Secret, or to ask who reads metrics. */}}
{{- define "berth.placement.needsApiServer" -}}
{{- $readable := include "berth.readableSecrets" .Values.placement | fromJson -}}
{{- if or $readable .Values.placement.metrics.secure }}true{{ end -}}
{{- end -}}
