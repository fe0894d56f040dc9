{{/* Written by `make chart-files` from `berth rbac`. Arguments have `root` and `remote`. */}}

{{- define "berth.rules.berth" -}}
{{- if not .remote }}
# Who reads metrics or asks about objects.
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
{{- end }}
{{- if not .remote }}
# Whether they may.
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}
{{- if not .remote }}
# Changes of commitments are completed or undone.
# Changes are recorded before they begin, and deleted when they are old.
- apiGroups: [cortex.cloud]
  resources: [commitmentchanges]
  verbs: [get, list, watch, create, patch, delete]
{{- end }}
{{- if not .remote }}
# How far a change is.
- apiGroups: [cortex.cloud]
  resources: [commitmentchanges/status]
  verbs: [patch]
{{- end }}
# Commitments are read.
# The finalizer of commitments. Their spec belongs to others; RBAC cannot tell the two apart.
# Limes creates, changes and deletes commitments.
# A commitment of unknown state is read again.
# Commitments are corrected after the list of Limes.
- apiGroups: [cortex.cloud]
  resources: [committedresources]
  verbs: [get, list, watch, create, patch, delete]
# What became of a commitment.
# Which VMs use a commitment.
- apiGroups: [cortex.cloud]
  resources: [committedresources/status]
  verbs: [patch]
{{- if not .remote }}
# Datasources say which database has the VMs, and when it was filled.
# The kind need not be installed.
- apiGroups: [cortex.cloud]
  resources: [datasources]
  verbs: [list, watch]
{{- end }}
# What there is of each flavor group in a zone is read.
# A capacity of unknown state is read again.
# There is one for each flavor group and zone.
- apiGroups: [cortex.cloud]
  resources: [flavorgroupcapacities]
  verbs: [get, list, watch, create, delete]
# What there is of a flavor group in a zone.
- apiGroups: [cortex.cloud]
  resources: [flavorgroupcapacities/status]
  verbs: [patch]
# What was decided about VMs, one object each, which is read when there is a new decision.
# Old decisions are deleted, and those beyond a number.
# The kind need not be installed.
- apiGroups: [cortex.cloud]
  resources: [histories]
  verbs: [get, list, create, delete]
# The last decisions about a VM.
# The kind need not be installed.
- apiGroups: [cortex.cloud]
  resources: [histories/status]
  verbs: [patch]
# The flavor groups are read.
- apiGroups: [cortex.cloud]
  resources: [knowledges]
  verbs: [list, watch]
{{- if not .remote }}
# Pipelines that replace those compiled in are read.
# The kind need not be installed.
- apiGroups: [cortex.cloud]
  resources: [pipelines]
  verbs: [list, watch]
{{- end }}
{{- if not .remote }}
# Whether a pipeline can be used. Pipelines belong to the deployment.
# The kind need not be installed.
- apiGroups: [cortex.cloud]
  resources: [pipelines/status]
  verbs: [patch]
{{- end }}
# Quotas of projects are reported.
# Limes sets the quota of projects.
# A quota of unknown state is read again.
- apiGroups: [cortex.cloud]
  resources: [projectquotas]
  verbs: [get, list, watch, create, patch, delete]
# What is used of a quota.
- apiGroups: [cortex.cloud]
  resources: [projectquotas/status]
  verbs: [patch]
# Reservations are read, also those of others.
# Slots of commitments are created, sized and deleted.
# Slots get a host, lose it, and follow their VMs.
# Slots whose commitment is gone are deleted.
# Slots are taken from over-booked hosts.
# In-flight reservations that are over are deleted.
# VMs that the scheduler has placed are written into slots.
- apiGroups: [cortex.cloud]
  resources: [reservations]
  verbs: [get, list, watch, create, patch, delete]
# Whether a slot is in force, and where.
# Reports that the disruption limit keeps an orphaned slot.
# What an in-flight reservation waits for.
- apiGroups: [cortex.cloud]
  resources: [reservations/status]
  verbs: [patch]
# Hosts and the VMs on them are read.
- apiGroups: [kvm.cloud.sap]
  resources: [hypervisors]
  verbs: [list, watch]
{{- end -}}

{{- define "berth.rules.callers" -}}
# Who reads metrics or asks about objects.
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
# Whether they may.
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end -}}

{{- define "berth.rules.berth-configmaps" -}}
# The leader publishes the service info for Limes, and every replica serves it.
# The leader keeps the capacity that Nova was promised, for the next leader.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [create]
# The leader keeps the capacity that Nova was promised, for the next leader.
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [berth-claims]
  verbs: [get, update]
# The leader publishes the service info for Limes, and every replica serves it.
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [berth-liquid-info]
  verbs: [get, list, watch, update]
{{- end -}}

{{- define "berth.rules.berth-events" -}}
{{- if not .remote }}
# Events about commitments.
# Events about slots.
# Events about changes.
# Events about the disruption limit, on the flavor groups.
# Events about decisions.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end }}
{{- if .remote }}
# Events about commitments.
# Events about slots.
# Events about decisions.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end }}
{{- end -}}

{{- define "berth.rules.berth-leader-election" -}}
# The election reads and holds the lease.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, create, update]
{{- end -}}

{{- define "berth.rules.berth-explain" -}}
{{- if not .remote }}
# The capacity that Nova was promised.
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [berth-claims]
  verbs: [get, list]
{{- end }}
{{- if not .remote }}
# The units in which Limes counts.
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [berth-liquid-info]
  verbs: [get, list]
{{- end }}
{{- if not .remote }}
# Where the leader answers.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "berth.lease" .root | quote }}]
  verbs: [get, list]
{{- end }}
{{- if not .remote }}
- apiGroups: [cortex.cloud]
  resources: [commitmentchanges]
  verbs: [list]
{{- end }}
- apiGroups: [cortex.cloud]
  resources: [committedresources]
  verbs: [list]
- apiGroups: [cortex.cloud]
  resources: [flavorgroupcapacities]
  verbs: [list]
- apiGroups: [cortex.cloud]
  resources: [knowledges]
  verbs: [list]
{{- if not .remote }}
# The kind need not be installed.
- apiGroups: [cortex.cloud]
  resources: [pipelines]
  verbs: [list]
{{- end }}
- apiGroups: [cortex.cloud]
  resources: [projectquotas]
  verbs: [list]
- apiGroups: [cortex.cloud]
  resources: [reservations]
  verbs: [list]
- apiGroups: [kvm.cloud.sap]
  resources: [hypervisors]
  verbs: [list]
{{- if not .remote }}
- nonResourceURLs: ["/v1/explain/*"]
  verbs: [get]
{{- end }}
{{- end -}}

{{- define "berth.rules.berth-crds-check" -}}
# For --check-only.
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  verbs: [get]
- apiGroups: [cortex.cloud]
  resources: [committedresources]
  verbs: [list, create]
- apiGroups: [cortex.cloud]
  resources: [flavorgroupcapacities]
  verbs: [list, create]
- apiGroups: [cortex.cloud]
  resources: [projectquotas]
  verbs: [list, create]
- apiGroups: [cortex.cloud]
  resources: [reservations]
  verbs: [list, create]
{{- end -}}

{{- define "berth.rules.berth-metrics" -}}
- nonResourceURLs: ["/metrics"]
  verbs: [get]
{{- end -}}
