// adc opt --passes=insert-deallocs
// The function that gets a record hands a record in it on to another one, which frees one of the two arrays there: the
// other one is freed where it was allocated.

func.func @f(%n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %x = memref.alloc(%n) : memref<?xf64>
  %y = memref.alloc(%n) : memref<?xf64>
  %one = arith.constant 1.0 : f64
  linalg.fill ins(%one : f64) outs(%x : memref<?xf64>)
  linalg.fill ins(%one : f64) outs(%y : memref<?xf64>)
  %inner = adc.pack %x, %y : memref<?xf64>, memref<?xf64>
  %outer = adc.pack %inner : !adc.record
  %r = func.call @hand_on(%outer) : (!adc.record) -> f64
  adc.release %outer : !adc.record
  func.return %r : f64
}

func.func @hand_on(%record: !adc.record) -> f64 {
  %inner = adc.unpack %record {contents = [[]], roots = [[]]} : !adc.record
  %r = func.call @use(%inner) : (!adc.record) -> f64
  adc.release %inner : !adc.record
  func.return %r : f64
}

func.func @use(%record: !adc.record) -> f64 {
  %c0 = arith.constant 0 : index
  %x, %y = adc.unpack %record {contents = [[], []], roots = [[-1], [-2]]} : memref<?xf64>, memref<?xf64>
  %a = memref.load %x[%c0] : memref<?xf64>
  %b = memref.load %y[%c0] : memref<?xf64>
  %r = arith.addf %a, %b : f64
  memref.dealloc %x : memref<?xf64>
  func.return %r : f64
}

// becomes
func.func @f(%n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %x = memref.alloc(%n) : memref<?xf64>
  %y = memref.alloc(%n) : memref<?xf64>
  %one = arith.constant 1.0 : f64
  linalg.fill ins(%one : f64) outs(%x : memref<?xf64>)
  linalg.fill ins(%one : f64) outs(%y : memref<?xf64>)
  %inner = adc.pack %x, %y : memref<?xf64>, memref<?xf64>
  %outer = adc.pack %inner : !adc.record
  %r = func.call @hand_on(%outer) : (!adc.record) -> f64
  adc.release %outer : !adc.record
  memref.dealloc %y : memref<?xf64>
  func.return %r : f64
}

func.func @hand_on(%record: !adc.record) -> f64 {
  %inner = adc.unpack %record {contents = [[]], roots = [[]]} : !adc.record
  %r = func.call @use(%inner) : (!adc.record) -> f64
  adc.release %inner : !adc.record
  func.return %r : f64
}

func.func @use(%record: !adc.record) -> f64 {
  %c0 = arith.constant 0 : index
  %x, %y = adc.unpack %record {contents = [[], []], roots = [[-1], [-2]]} : memref<?xf64>, memref<?xf64>
  %a = memref.load %x[%c0] : memref<?xf64>
  %b = memref.load %y[%c0] : memref<?xf64>
  %r = arith.addf %a, %b : f64
  memref.dealloc %x : memref<?xf64>
  func.return %r : f64
}
